// A thread with a name, which is joined once.

internal import CPlatform
internal import Glibc

public struct Thread: ~Copyable, @unchecked Sendable {
    private let handle: pthread_t

    /// Starts a thread. The name, cut to 15 bytes, shows in `top -H` and in stack traces.
    public static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Thread {
        final class Box: Sendable {
            let name: String
            let body: @Sendable () -> Void
            init(_ name: String, _ body: @escaping @Sendable () -> Void) {
                self.name = name
                self.body = body
            }
        }
        var handle = pthread_t()
        let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { raw in
            let box = Unmanaged<Box>.fromOpaque(raw!).takeRetainedValue()
            cplatform_name_thread(box.name)
            box.body()
            return nil
        }
        let status = pthread_create(&handle, nil, start, Unmanaged.passRetained(Box(name, body)).toOpaque())
        precondition(status == 0, "a thread could not be started: \(String(cString: strerror(status)))")
        return Thread(handle: handle)
    }

    /// Waits until the thread has ended.
    public consuming func join() { pthread_join(handle, nil) }

    /// Lets the thread run on alone.
    public consuming func detach() { pthread_detach(handle) }
}
