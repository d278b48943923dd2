// Tests programs that leave processes behind. A pipe that the program and all its processes hold shows that none is left: it ends together
// with the last of them.

import Glibc
import TestSupport
import Testing

@testable import Platform

@Suite("A program that is run", .timeLimit(.minutes(20)))
struct ProcessTests {
    private final class Sample {
        let process: Platform.Process
        private let output: Descriptor

        init(_ script: String, environment: [String]? = nil) throws(SystemFault) {
            let ends = try makePipe()
            output = Descriptor(owning: ends.reading)
            let theirs = Descriptor(owning: ends.writing)
            process = try Platform.Process("sh", ["-c", script], environment: environment, descriptors: [-1, theirs.number, 2])
            _ = consume theirs
        }

        /// Returns the output up to the end of a line.
        func line() -> String {
            var text: [UInt8] = []
            var byte: UInt8 = 0
            while read(output.number, &byte, 1) == 1, byte != UInt8(ascii: "\n") { text.append(byte) }
            return String(decoding: text, as: UTF8.self)
        }

        /// Waits until no process holds the output any more. Returns what was printed.
        func rest() -> String {
            var text = ""
            while case let one = line(), !one.isEmpty { text += one }
            return text
        }
    }

    /// Ignores all signals that can be ignored, and starts a child in its group and one in a separate session, which ignore them too.
    private static let stubborn = """
        trap '' TERM INT HUP PIPE
        sleep 1000 &
        setsid sh -c 'trap "" TERM; echo ready; while :; do sleep 1000; done' &
        while :; do sleep 1000; done
        """

    @Test("is killed with all its processes, also with those that have left its group")
    func kills() throws {
        let sample = try Sample(Self.stubborn)
        #expect(sample.line() == "ready")
        sample.process.terminate()
        #expect(!sample.process.hasEnded)
        sample.process.kill()
        #expect(sample.process.wait() == "died of signal 9 (Killed)")
        #expect(sample.rest() == "")
    }

    @Test("is killed with all its processes when its owner releases it")
    func letGo() throws {
        var sample: Sample? = try Sample(Self.stubborn)
        #expect(sample?.line() == "ready")
        let process = try #require(sample?.process.number)
        sample = nil
        #expect(kill(process, 0) == -1 && errno == ESRCH)
    }

    @Test("dies when its supervisor is killed, and the rest of its group is killed by the router")
    func supervisorKilled() throws {
        let sample = try Sample("trap '' TERM; sleep 1000 & echo $PPID; while :; do sleep 1000; done")
        let supervisor = try #require(Int32(sample.line()))
        #expect(kill(supervisor, SIGKILL) == 0)
        #expect(sample.process.wait() == "died of signal 9 (Killed)")
        #expect(sample.rest() == "")
    }

    @Test("does not block the router if its supervisor is stopped")
    func supervisorStopped() throws {
        let sample = try Sample("trap '' TERM; sleep 1000 & echo $PPID; while :; do sleep 1000; done")
        // The program itself must not do this: it could stop a supervisor that has not yet reported the start.
        let supervisor = try #require(Int32(sample.line()))
        #expect(kill(supervisor, SIGSTOP) == 0)
        sample.process.kill()
        #expect(sample.process.wait() == "died of signal 9 (Killed)")
        #expect(sample.rest() == "")
    }

    @Test("is reported as ended while its child holds the output, and the child is killed")
    func ended() throws {
        let sample = try Sample("trap '' TERM; (while :; do sleep 1000; done) & echo ready; exit 3")
        #expect(sample.line() == "ready")
        #expect(sample.process.ends(within: .seconds(600)))
        #expect(sample.process.hasEnded)
        #expect(!sample.process.endsWhole(within: .zero))
        #expect(sample.process.wait() == "ended with code 3")
        #expect(sample.rest() == "")
    }

    @Test("is asked to end with its whole group, and then has ended completely")
    func terminates() throws {
        let sample = try Sample("sleep 1000 & echo ready; wait")
        #expect(sample.line() == "ready")
        sample.process.terminate()
        #expect(sample.process.endsWhole(within: .seconds(600)))
        #expect(sample.process.wait() == "died of signal 15 (Terminated)")
    }

    @Test("inherits no blocked or ignored signals, whatever the router has set")
    func signals() throws {
        signal(SIGPIPE, SIG_IGN)
        let sample = try Sample("sed -n 's/^SigBlk:\\t//p; s/^SigIgn:\\t//p' /proc/self/status")
        #expect(UInt64(sample.line(), radix: 16) == 0)
        // The C library reserves two signals, which every program that posix_spawn starts ignores at first.
        #expect(UInt64(sample.line(), radix: 16).map { $0 & ~0x1_8000_0000 } == 0)
    }

    @Test("gets only the variables that it is given")
    func environment() throws {
        setenv("SWITCHYARD_TEST_SECRET", "not yours", 1)
        let sample = try Sample(
            "echo \"$SWITCHYARD_TEST_SECRET|$MINE|${PATH:+path}\"", environment: Platform.Process.cleanEnvironment([("MINE", "a=b c")]))
        #expect(sample.line() == "|a=b c|path")
        let whole = try Sample("echo \"$SWITCHYARD_TEST_SECRET\"")
        #expect(whole.line() == "not yours")
    }

    @Test(
        "that cannot be started reports the reason",
        arguments: [("/no/such/program", ENOENT), ("no-such-program", ENOENT), ("/etc/passwd", EACCES), ("", ENOENT), ("/tmp", EACCES)])
    func missing(program: String, code: Int32) {
        let fault = #expect(throws: SystemFault.self) { _ = try Platform.Process(program, [], descriptors: [-1]) }
        #expect(fault?.code == code)
    }

    @Test("fails without a leaked descriptor and without ending the router if no descriptors are left")
    func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            try withFewDescriptors {
                _ = try ErrorPipe.open("errors", hear: { _ in }) { (errors) throws(SystemFault) in
                    let process = try Platform.Process("true", [], descriptors: [-1, -1, errors])
                    _ = process.wait()
                }
            }
        }
    }
}
