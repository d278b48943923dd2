import Events
import Foundation
import Glibc
import Ingest
import Platform
import Testing

/// Writes each piece into a pipe with one write, and reads blocks until the end. The pieces must fit into the pipe.
private func read(_ pieces: [String], limit: Int = 1000, blockSize: Int = 64) throws -> [String] {
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    defer { close(ends[0]) }
    for piece in pieces { _ = piece.withCString { write(ends[1], $0, strlen($0)) } }
    close(ends[1])
    return blocks(ends[0], limit: limit, blockSize: blockSize, stop: try WakeUp())
}

private func blocks(_ descriptor: Int32, limit: Int, blockSize: Int, stop: WakeUp) -> [String] {
    var reader = LineReader(descriptor: descriptor, lineLimit: limit, blockSize: blockSize, stop: stop)
    var buffer = ByteBuffer()
    var blocks: [String] = []
    while true {
        switch reader.next(&buffer) {
        case .lines: blocks.append(String(decoding: buffer.bytes, as: UTF8.self))
        case .overlong(let bytes): blocks.append("overlong \(bytes)")
        case .failed(let fault): return blocks + ["failed \(fault)"]
        case .stopped(let unfinished): return blocks + ["stopped \(unfinished)"]
        case .end: return blocks
        }
    }
}

@Suite("A line reader")
struct LineReaderTests {
    @Test("returns every byte in blocks of whole lines", arguments: 0..<100)
    func wholeLines(seed: UInt64) throws {
        var state = seed
        func roll(_ sides: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % sides
        }
        let text = (0..<roll(60)).map { _ in String(repeating: "x", count: roll(90)) + "\n" }.joined()
        let blocks = try read([text], blockSize: 1 + roll(100))
        #expect(blocks.joined() == text)
        #expect(blocks.allSatisfy { $0.hasSuffix("\n") })
    }

    @Test("adds a missing newline to the last line")
    func lastLine() throws {
        #expect(try read(["a\nb"]).joined() == "a\nb\n")
        #expect(try read(["b"]) == ["b\n"])
        #expect(try read([]) == [])
        #expect(try read(["\n\n"]) == ["\n\n"])
    }

    @Test("drops a byte order mark at the beginning, however it arrives, and nowhere else")
    func mark() throws {
        #expect(try read(["\u{feff}a\n\u{feff}b\n"]) == ["a\n\u{feff}b\n"])
        #expect(try read(["\u{feff}a\n\u{feff}b\n"], blockSize: 1).joined() == "a\n\u{feff}b\n")
        #expect(try read(["\u{feff}a"]) == ["a\n"])
        #expect(try read(["\u{feff}"]) == [])
        #expect(try read([String(repeating: "x", count: 200), "\n\u{feff}b\n"], limit: 100) == ["overlong 200", "\u{feff}b\n"])
    }

    @Test("discards a line over the limit and keeps its neighbours")
    func overlong() throws {
        let long = String(repeating: "x", count: 500)
        #expect(try read(["before\n", long, "\nafter\n"], limit: 100) == ["before\n", "overlong 500", "after\n"])
        #expect(try read([long, long, "\n", long], limit: 100) == ["overlong 1000", "overlong 500"])
    }

    @Test("holds no more of a huge line than the limit and one block")
    func hugeLine() throws {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        let output = ends[1]
        let size = 64 << 20
        let writer = Thread.start("writer") {
            let chunk = [UInt8](repeating: 0x78, count: 1 << 20)
            for _ in 0..<(size >> 20) { chunk.withUnsafeBytes { try? writeAll(output, $0) } }
            _ = "\n{}\n".withCString { write(output, $0, 4) }
            close(output)
        }
        var reader = LineReader(descriptor: ends[0], lineLimit: 1 << 20, stop: try WakeUp())
        var buffer = ByteBuffer()
        let first = reader.next(&buffer)
        #expect(first == .overlong(bytes: size))
        let isSmall = buffer.capacity <= 4 << 20
        #expect(isSmall)
        let second = reader.next(&buffer)
        #expect(second == .lines)
        writer.join()
        close(ends[0])
    }

    @Test("returns available lines without waiting for more")
    func doesNotWait() throws {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        defer { for end in ends { close(end) } }
        _ = "a\nb".withCString { write(ends[1], $0, 3) }
        var reader = LineReader(descriptor: ends[0], lineLimit: 100, stop: try WakeUp())
        var buffer = ByteBuffer()
        let intake = reader.next(&buffer)
        #expect(intake == .lines)
        let text = String(decoding: buffer.bytes, as: UTF8.self)
        #expect(text == "a\n")
    }

    @Test("stops between two lines, and returns no line that has not ended")
    func stops() throws {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        defer { for end in ends { close(end) } }
        let stop = try WakeUp()
        _ = "a\nhalf".withCString { write(ends[1], $0, 6) }
        var reader = LineReader(descriptor: ends[0], lineLimit: 100, stop: stop)
        var buffer = ByteBuffer()
        let first = reader.next(&buffer)
        #expect(first == .lines)
        let raiser = Thread.start("raiser") { stop.raise() }
        let second = reader.next(&buffer)
        raiser.join()
        #expect(second == .stopped(unfinished: 4))
        let isEmpty = buffer.isEmpty
        #expect(isEmpty)
    }

    @Test("does not report a line as unfinished after a stop if its end is available")
    func stopsInTheFlow() throws {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        defer { for end in ends { close(end) } }
        let stop = try WakeUp()
        _ = "first\nsecond\nthird\n".withCString { write(ends[1], $0, 19) }
        var reader = LineReader(descriptor: ends[0], lineLimit: 100, blockSize: 9, stop: stop)
        var buffer = ByteBuffer()
        let first = reader.next(&buffer)
        #expect(first == .lines)
        stop.raise()
        let second = reader.next(&buffer)
        #expect(second == .stopped(unfinished: 0))
    }

    @Test("reports the error of the system if the input cannot be read")
    func readError() throws {
        let folder = open("/", O_RDONLY)
        defer { close(folder) }
        #expect(try blocks(folder, limit: 100, blockSize: 64, stop: WakeUp()) == ["failed Is a directory"])
        // No descriptor ever has the highest number. A lower number could belong to another test.
        #expect(try blocks(.max, limit: 100, blockSize: 64, stop: WakeUp()) == ["failed Bad file descriptor"])
    }

    @Test("reads files, devices and non-blocking descriptors in the same way")
    func kinds() throws {
        let null = open("/dev/null", O_RDONLY)
        defer { close(null) }
        #expect(try blocks(null, limit: 100, blockSize: 64, stop: WakeUp()) == [])

        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { unlink(path) }
        try "a\nb\n".write(toFile: path, atomically: true, encoding: .utf8)
        let file = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(file) }
        #expect(try blocks(file, limit: 100, blockSize: 64, stop: WakeUp()) == ["a\nb\n"])
    }
}
