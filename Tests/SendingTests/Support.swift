// Support for the tests of the sender: a clock that the test controls, and inputs in files of a temporary folder.

import Glibc
import Platform
import TestSupport

@testable import Sending

final class Folder {
    let path: String
    init() {
        var name = Array("/tmp/sending-tests-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&name))
    }
    deinit {
        for name in names { unlink(path + "/" + name) }
        rmdir(path)
    }

    var names: [String] { fileNames(in: path) }

    /// Opens a file of this text for reading.
    func file(_ name: String, _ text: String) -> Int32 {
        let number = open(path + "/" + name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        precondition(write(number, text, text.utf8.count) == text.utf8.count)
        lseek(number, 0, SEEK_SET)
        return number
    }
}

/// Records what a sender said and how long it waited. Only waiting moves its clock.
final class SenderRecorder {
    var said: [String] = []
    var waits: [Duration] = []
    private let time = Monitor(Int64(0))

    var dependencies: Sender.Dependencies {
        let time = time
        return Sender.Dependencies(
            clock: Clock(now: { Instant(nanoseconds: time.withLock { $0 }) }, wall: { 0 }),
            wait: { [unowned self] duration in
                waits.append(duration)
                time.withLock { $0 += duration.nanoseconds }
            },
            chance: { _ in 0 }, say: { [unowned self] in said.append($0) })
    }
}

/// Returns events with these numbers, without newlines.
func events(_ numbers: Range<Int>) -> [String] { numbers.map { "{\"n\":\($0)}" } }
func text(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }
