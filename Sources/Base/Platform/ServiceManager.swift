// The communication between systemd and a service: the service reports that it is ready or stopping, and systemd hands over sockets.
// Without systemd nothing here has an effect.

internal import Glibc

public enum ServiceManager {
    /// Reports a state, such as `READY=1` or `STOPPING=1`. Returns true if a receiver got it. If the queue of the receiver is full, the
    /// call waits at most as long as `timeout`, so that a receiver that has stopped reading cannot stop the router.
    @discardableResult public static func notify(_ state: String, timeout: Duration = .seconds(5)) -> Bool {
        guard let path = getenv("NOTIFY_SOCKET") else { return false }
        var name = Array(String(cString: path).utf8)
        guard name.first == UInt8(ascii: "/") || name.first == UInt8(ascii: "@") else { return false }
        // An abstract name begins with a zero byte.
        if name[0] == UInt8(ascii: "@") { name[0] = 0 }
        guard let address = UnixAddress(name: name) else { return false }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // A limit of zero would mean no limit.
        let (seconds, rest) = max(timeout, .microseconds(1)).nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        var limit = timeval(tv_sec: Int(seconds), tv_usec: Int(rest / 1000))
        guard setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size)) == 0 else { return false }
        return Array(state.utf8).withUnsafeBytes { bytes in
            address.withPointer { name, size in
                while true {
                    let count = sendto(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL), name, size)
                    if count >= 0 || errno != EINTR { return count == bytes.count }
                }
            }
        }
    }

    /// A socket that systemd opened for this process.
    public struct Inherited: Sendable, Equatable {
        public var descriptor: Int32
        public var name: String
        public init(descriptor: Int32, name: String) {
            self.descriptor = descriptor
            self.name = name
        }
    }

    /// Returns the sockets that systemd opened for the process with this number, or for this process if it is nil. They are read from the
    /// environment. `first` is the number of the first descriptor.
    public static func inherited(_ environment: (String) -> String?, process: Int32? = nil, first: Int32 = 3) -> [Inherited] {
        guard environment("LISTEN_PID").flatMap({ Int32($0) }) == process ?? getpid(),
            let count = environment("LISTEN_FDS").flatMap({ Int32($0) }),
            (1...1000).contains(count)
        else { return [] }
        let names = (environment("LISTEN_FDNAMES") ?? "").split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        return (0..<count).map { number in
            Inherited(descriptor: first + number, name: Int(number) < names.count ? names[Int(number)] : "")
        }
    }
}
