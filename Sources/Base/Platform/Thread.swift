// A named thread, which is joined or detached once.

internal import CPlatform
internal import Glibc

public struct Thread: ~Copyable, @unchecked Sendable {
    private let handle: pthread_t

    /// Starts a thread. The name, cut to 15 bytes, appears in `top -H` and in stack traces.
    public static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Thread {
        var handle = pthread_t()
        let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { raw in
            let body = Unmanaged<ThreadBody>.fromOpaque(raw!).takeRetainedValue()
            cplatform_name_thread(body.name)
            body.run()
            return nil
        }
        let status = pthread_create(&handle, nil, start, Unmanaged.passRetained(ThreadBody(name, run: body)).toOpaque())
        precondition(status == 0, "a thread could not be started: \(String(cString: strerror(status)))")
        return Thread(handle: handle)
    }

    /// Waits until the thread has ended.
    public consuming func join() { pthread_join(handle, nil) }

    /// Lets the thread continue without a join.
    public consuming func detach() { pthread_detach(handle) }
}

/// What a thread is given when it starts. It is not declared inside `start`: the compiler cannot optimize a local class across modules.
private final class ThreadBody: Sendable {
    let name: String
    let run: @Sendable () -> Void

    init(_ name: String, run: @escaping @Sendable () -> Void) {
        self.name = name
        self.run = run
    }
}
