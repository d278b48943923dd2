// A sender whose clock the test holds, and inputs in files of a folder of its own.

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

    var names: [String] {
        guard let handle = opendir(path) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(cString: $0.bindMemory(to: CChar.self).baseAddress!) }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Opens a file of this text for reading.
    func file(_ name: String, _ text: String) -> Int32 {
        let number = open(path + "/" + name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        precondition(write(number, text, text.utf8.count) == text.utf8.count)
        lseek(number, 0, SEEK_SET)
        return number
    }
}

/// What a sender said and how long it waited, on a clock that only waiting moves.
final class Diary {
    var said: [String] = []
    var waits: [Duration] = []
    private let hands = Monitor(Int64(0))

    var dependencies: Sender.Dependencies {
        let hands = hands
        return Sender.Dependencies(
            clock: Clock(now: { Instant(nanoseconds: hands.withLock { $0 }) }, wall: { 0 }),
            wait: { [unowned self] duration in
                waits.append(duration)
                hands.withLock { $0 += duration.nanoseconds }
            },
            chance: { _ in 0 }, say: { [unowned self] in said.append($0) })
    }
}

/// Events with their number, one a line.
func events(_ numbers: Range<Int>) -> [String] { numbers.map { "{\"n\":\($0)}" } }
func text(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }
