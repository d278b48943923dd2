// Every program here is one that would stay behind. That it does not is seen by a pipe that it and all that it starts hold: it ends when
// the last of them has.

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

        /// What it prints until a line ends.
        func line() -> String {
            var text: [UInt8] = []
            var byte: UInt8 = 0
            while read(output.number, &byte, 1) == 1, byte != UInt8(ascii: "\n") { text.append(byte) }
            return String(decoding: text, as: UTF8.self)
        }

        /// Waits until nobody holds its output any more; what was printed.
        func rest() -> String {
            var text = ""
            while case let one = line(), !one.isEmpty { text += one }
            return text
        }
    }

    /// Ignores what can be ignored, and leaves a child in its group and one in a session of its own, which do so too.
    private static let stubborn = """
        trap '' TERM INT HUP PIPE
        sleep 1000 &
        setsid sh -c 'trap "" TERM; echo ready; while :; do sleep 1000; done' &
        while :; do sleep 1000; done
        """

    @Test("is killed with all that it has started, also with what has left its group")
    func kills() throws {
        let sample = try Sample(Self.stubborn)
        #expect(sample.line() == "ready")
        sample.process.terminate()
        #expect(!sample.process.hasEnded)
        sample.process.kill()
        #expect(sample.process.wait() == "died of signal 9 (Killed)")
        #expect(sample.rest() == "")
    }

    @Test("is killed with all that it has started when it is let go")
    func letGo() throws {
        var sample: Sample? = try Sample(Self.stubborn)
        #expect(sample?.line() == "ready")
        let process = try #require(sample?.process.number)
        sample = nil
        #expect(kill(process, 0) == -1 && errno == ESRCH)
    }

    @Test("dies when its supervisor is killed, and what is left in its group is killed from here")
    func supervisorKilled() throws {
        let sample = try Sample("trap '' TERM; sleep 1000 & echo $PPID; while :; do sleep 1000; done")
        let supervisor = try #require(Int32(sample.line()))
        #expect(kill(supervisor, SIGKILL) == 0)
        #expect(sample.process.wait() == "died of signal 9 (Killed)")
        #expect(sample.rest() == "")
    }

    @Test("does not hold its router by stopping its supervisor")
    func supervisorStopped() throws {
        let sample = try Sample("trap '' TERM; sleep 1000 & echo $PPID; while :; do sleep 1000; done")
        // Not by the program itself: it would stop some that have not yet said that it was started.
        let supervisor = try #require(Int32(sample.line()))
        #expect(kill(supervisor, SIGSTOP) == 0)
        sample.process.kill()
        #expect(sample.process.wait() == "died of signal 9 (Killed)")
        #expect(sample.rest() == "")
    }

    @Test("is seen to have ended while a child of its own holds its output, and that child ends with it")
    func ended() throws {
        let sample = try Sample("trap '' TERM; (while :; do sleep 1000; done) & echo ready; exit 3")
        #expect(sample.line() == "ready")
        #expect(sample.process.ends(within: .seconds(600)))
        #expect(sample.process.hasEnded)
        #expect(!sample.process.endsWhole(within: .zero))
        #expect(sample.process.wait() == "ended with code 3")
        #expect(sample.rest() == "")
    }

    @Test("is asked to end with its whole group, and then has ended whole")
    func terminates() throws {
        let sample = try Sample("sleep 1000 & echo ready; wait")
        #expect(sample.line() == "ready")
        sample.process.terminate()
        #expect(sample.process.endsWhole(within: .seconds(600)))
        #expect(sample.process.wait() == "died of signal 15 (Terminated)")
    }

    @Test("inherits no signal that is blocked or ignored, whatever its router does with them")
    func signals() throws {
        signal(SIGPIPE, SIG_IGN)
        let sample = try Sample("sed -n 's/^SigBlk:\\t//p; s/^SigIgn:\\t//p' /proc/self/status")
        #expect(UInt64(sample.line(), radix: 16) == 0)
        // The C library keeps two for itself, and posix_spawn has every program begin with these ignored.
        #expect(UInt64(sample.line(), radix: 16).map { $0 & ~0x1_8000_0000 } == 0)
    }

    @Test("gets the variables it is given and no others")
    func environment() throws {
        setenv("SWITCHYARD_TEST_SECRET", "not yours", 1)
        let sample = try Sample(
            "echo \"$SWITCHYARD_TEST_SECRET|$MINE|${PATH:+path}\"", environment: Platform.Process.cleanEnvironment([("MINE", "a=b c")]))
        #expect(sample.line() == "|a=b c|path")
        let whole = try Sample("echo \"$SWITCHYARD_TEST_SECRET\"")
        #expect(whole.line() == "not yours")
    }

    @Test(
        "that cannot be started says why",
        arguments: [("/no/such/program", ENOENT), ("no-such-program", ENOENT), ("/etc/passwd", EACCES), ("", ENOENT), ("/tmp", EACCES)])
    func missing(program: String, code: Int32) {
        let fault = #expect(throws: SystemFault.self) { _ = try Platform.Process(program, [], descriptors: [-1]) }
        #expect(fault?.code == code)
    }

    @Test("and its standard error cost the router no descriptor and do not end it when they cannot be had, since all are used up")
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
