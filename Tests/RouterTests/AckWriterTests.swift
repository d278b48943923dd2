// Tests for the acknowledgement of lines: in order, to a producer that is slow, and to one that is gone.

import Foundation
import Glibc
import Platform
import Testing

@testable import Router

@Suite("The acknowledgement of lines")
struct AckWriterTests {
    private final class Producer {
        let said = Monitor<[String]>([])
        private(set) var reading: Int32
        private(set) var writing: Int32

        init() throws { (reading, writing) = try makePipe() }
        deinit { for end in [reading, writing] where end >= 0 { close(end) } }

        func writer() -> AckWriter { AckWriter(writing) { [said] line in said.withLock { $0.append(line) } } }
        func leave() {
            close(reading)
            reading = -1
        }
        /// Returns everything that was acknowledged, after the writer is closed.
        func rest() -> String {
            close(writing)
            writing = -1
            var text: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            while case let count = read(reading, &chunk, chunk.count), count > 0 { text += chunk[..<count] }
            return String(decoding: text, as: UTF8.self)
        }
        func line() -> String {
            var text: [UInt8] = []
            var byte: UInt8 = 0
            while read(reading, &byte, 1) == 1, byte != UInt8(ascii: "\n") { text.append(byte) }
            return String(decoding: text, as: UTF8.self)
        }
        /// Fills the pipe, so that the next write waits for the producer. Returns the number of bytes.
        func fill() -> Int {
            let flags = fcntl(writing, F_GETFL)
            _ = fcntl(writing, F_SETFL, flags | O_NONBLOCK)
            let blank = [UInt8](repeating: 0x20, count: 4096)
            var filled = 0
            while case let count = write(writing, blank, blank.count), count > 0 { filled += count }
            _ = fcntl(writing, F_SETFL, flags)
            return filled
        }
        func drop(_ bytes: Int) {
            var left = bytes
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            while left > 0, case let count = read(reading, &chunk, min(left, chunk.count)), count > 0 { left -= count }
        }
    }

    private let forever = Instant(nanoseconds: .max)

    @Test("names the last line before which all lines are safe, and never a later one, in whatever order blocks become safe")
    func order() throws {
        let producer = try Producer()
        let writer = producer.writer()
        let blocks = [3, 1, 0, 5].map { writer.next(lines: $0) }
        blocks[0]()
        #expect(producer.line() == "3")
        blocks[2]()
        blocks[3]()
        blocks[1]()
        // The last number covers those before it, so only the last one is certain to be written.
        let after = writer.next(lines: 2)
        let never = writer.next(lines: 1)
        let late = writer.next(lines: 1)
        after()
        late()
        writer.close(by: forever, .system)
        let numbers = producer.rest().split(separator: "\n").compactMap { Int($0) }
        #expect(numbers.last == 11 && numbers == numbers.sorted() && Set(numbers).count == numbers.count, "\(numbers)")
        #expect(numbers.allSatisfy { [4, 9, 11].contains($0) }, "\(numbers)")
        _ = never
    }

    @Test("is written completely before the end, even if it begins only then")
    func closes() throws {
        for _ in 0..<20 {
            let producer = try Producer()
            let writer = producer.writer()
            writer.next(lines: 7)()
            writer.close(by: forever, .system)
            #expect(producer.rest() == "7\n")
        }
        let none = try Producer()
        let writer = none.writer()
        _ = writer.next(lines: 7)
        writer.close(by: forever, .system)
        #expect(none.rest() == "")
    }

    @Test("does not delay the end if the producer does not read, and is not lost if it reads later")
    func slow() throws {
        let producer = try Producer()
        let filled = producer.fill()
        let writer = producer.writer()
        writer.next(lines: 5)()
        // The time is over when the writer is closed.
        writer.close(by: Instant(nanoseconds: 0), .system)
        producer.drop(filled)
        #expect(producer.line() == "5")
        #expect(producer.said.withLock { $0 } == [])
    }

    @Test("to a producer that is gone is reported once, and later lines do not matter")
    func gone() throws {
        signal(SIGPIPE, SIG_IGN)
        let producer = try Producer()
        let writer = producer.writer()
        producer.leave()
        writer.next(lines: 1)()
        writer.close(by: forever, .system)
        writer.next(lines: 1)()
        let words = "--acks: descriptor \(producer.writing) cannot be written to: Broken pipe; nothing more is acknowledged"
        #expect(producer.said.withLock { $0 } == [words])
    }
}

@Suite("The watermark of many blocks")
struct ManyBlocksTests {
    @Test("calls back for every block once and in order, in any order of settling and by several threads")
    func random() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20 {
            let watermark = Watermark()
            let called = Monitor<[Int]>([])
            let blocks = (0..<300).map { _ in watermark.enter() }.shuffled(using: &random)
            let left = Monitor(3)
            for part in 0..<3 {
                Platform.Thread.start("settle") {
                    for block in blocks[part * 100..<(part + 1) * 100] {
                        let then: @Sendable () -> Void = { called.withLock { $0.append(block) } }
                        watermark.settle(block, then: block % 3 == 0 ? nil : then)
                    }
                    left.withLock { $0 -= 1 }
                    left.wake()
                }.detach()
            }
            left.wait(while: { $0 > 0 })
            #expect(called.withLock { $0 } == (0..<300).filter { $0 % 3 != 0 })
        }
    }
}
