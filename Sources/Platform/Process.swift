// A process that this one starts and ends. It inherits the descriptors it is given and nothing else, and is reaped once.

internal import CPlatform
internal import Glibc

public final class Process: Sendable {
    public let number: Int32
    private let end = Monitor<Int32?>(nil)

    /// Starts a program. `descriptors[i]` becomes its descriptor i; -1 is /dev/null. Members of `environment` are `NAME=value`;
    /// nil: this process's own.
    public init(_ program: String, _ arguments: [String], environment: [String]? = nil, descriptors: [Int32]) throws(SystemFault) {
        func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] { texts.map { strdup($0) } + [nil] }
        let words = strings([program] + arguments)
        var variables = strings(environment ?? [])
        defer { for string in words + variables { free(string) } }
        var child: Int32 = 0
        let error = variables.withUnsafeMutableBufferPointer { variables in
            cplatform_spawn(
                &child, program, words, environment == nil ? environ : variables.baseAddress, descriptors, Int32(descriptors.count))
        }
        guard error == 0 else { throw SystemFault(code: error) }
        number = child
    }

    /// Bounds its address space. Not where this program was built with a sanitizer, which maps more than any machine has.
    public func limitMemory(_ bytes: Int) {
        guard dlsym(nil as UnsafeMutableRawPointer?, "__asan_init") == nil, dlsym(nil as UnsafeMutableRawPointer?, "__tsan_init") == nil
        else { return }
        cplatform_limit_memory(number, UInt64(bytes))
    }

    /// Ends it at once, with all that it started in its process group. Harmless once it was waited for.
    public func kill() {
        end.withLock { end in
            if end == nil { _ = Glibc.kill(-number, SIGKILL) }
        }
    }

    /// Whether it ends within that time. It is still to be waited for.
    public func ends(within milliseconds: Int32) -> Bool { cplatform_has_ended(number, milliseconds) != 0 }

    /// Waits until it has ended; in words for a person how it did. To be called by one thread.
    public func wait() -> String {
        if let known = end.withLock({ $0 }) { return Process.words(known) }
        // First without reaping, so that nobody else can have got the number while `kill` uses it.
        var info = siginfo_t()
        while waitid(P_PID, id_t(number), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let status: Int32 = end.withLock { end in
            var status: Int32 = 0
            while waitpid(number, &status, 0) < 0, errno == EINTR {}
            end = status
            return status
        }
        return Process.words(status)
    }

    private static func words(_ status: Int32) -> String {
        let signal = status & 0x7f
        if signal != 0 { return "died of signal \(signal) (\(String(cString: strsignal(signal))))" }
        return "ended with code \(status >> 8 & 0xff)"
    }
}
