// The state of a module source as a value.

import Events
import Platform
import Testing

@testable import Ingest

@Suite("The flow of a module source")
struct SourceFlowTests {
    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    private func block(_ token: UInt64, stream: UInt64 = 0, bytes: Int = 10) throws -> SourceBlock {
        let text = [UInt8](repeating: UInt8(ascii: "x"), count: bytes - 1) + [UInt8(ascii: "\n")]
        return try text.withUnsafeBytes {
            try SourceBlock(copying: RawSourceBlock(token: token, stream: stream, lines: $0, count: 1), lineLimit: 1_000_000)
        }
    }

    /// A flow whose module was started.
    private func started(bound: Int = 1000) -> SourceFlow {
        var flow = SourceFlow(bound: bound)
        #expect(flow.nextCall() == .start)
        return flow
    }

    /// The next block that the sink should get, which must be there.
    private func next(_ flow: inout SourceFlow, _ now: Instant) throws -> (serial: Int, block: SourceBlock) {
        let next = flow.nextSubmission(now: now)
        return try #require(next)
    }

    @Test("takes nothing before the start, after the stop, and after the end")
    func closed() throws {
        var flow = SourceFlow(bound: 1000)
        #expect(flow.take(try block(1)) == .closing)
        #expect(flow.nextCall() == .start && flow.nextCall() == nil)
        #expect(flow.take(try block(1)) == .taken)
        flow.stop()
        #expect(flow.take(try block(2)) == .closing)
        var other = started()
        other.end()
        #expect(other.take(try block(1)) == .closing)
    }

    @Test("a block of which events were lost is never acknowledged, frees its room, and may come again")
    func lost() throws {
        var flow = started(bound: 15)
        #expect(flow.take(try block(1)) == .taken)
        let serial = try next(&flow, at(0)).serial
        flow.taken(serial)
        #expect(flow.take(try block(2)) == .full && flow.nextCall() == .pause)
        flow.lost(serial)
        #expect(flow.nextCall() == .resume && flow.nextCall() == nil)
        #expect(flow.openBytes == 0 && flow.openBlocks == 0 && flow.acknowledged == 0)
        #expect(flow.take(try block(1)) == .taken)
    }

    @Test("a module that was stopped before its start is neither started nor stopped")
    func neverStarted() {
        var flow = SourceFlow(bound: 1000)
        flow.stop()
        #expect(flow.nextCall() == nil)
    }

    @Test("the next block of a stream goes to the sink only when the last cannot come back, and blocks of other streams do not wait")
    func order() throws {
        var flow = started()
        for (token, stream) in [(1, 7), (2, 7), (3, 8)] as [(UInt64, UInt64)] {
            #expect(flow.take(try block(token, stream: stream)) == .taken)
        }
        let first = try next(&flow, at(0))
        let other = try next(&flow, at(0))
        #expect(first.block.token == 1 && other.block.token == 3)
        #expect(flow.nextSubmission(now: at(0)) == nil, "the second block of stream 7 waits")
        flow.taken(first.serial)
        #expect(flow.nextSubmission(now: at(0))?.block.token == 2)
    }

    @Test("a block that is given back is submitted again after the pause, before the next of its stream")
    func givenBack() throws {
        var flow = started()
        for token in 1...2 as ClosedRange<UInt64> { _ = flow.take(try block(token)) }
        let first = try next(&flow, at(0))
        flow.givenBack(first.serial, until: at(5))
        #expect(flow.nextSubmission(now: at(4)) == nil && flow.nextTime == at(5))
        #expect(flow.nextSubmission(now: at(5))?.block.token == 1)
        #expect(flow.nextTime == nil)
        #expect(flow.nextCall() == nil, "the module hears nothing of it")
    }

    @Test("a block is acknowledged once, after its end, in the order of the ends, and its token may then be used again")
    func acknowledged() throws {
        var flow = started()
        for token in 1...3 as ClosedRange<UInt64> { _ = flow.take(try block(token, stream: token)) }
        let serials = try (0..<3).map { _ in try next(&flow, at(0)).serial }
        flow.taken(serials[0])
        #expect(flow.nextCall() == nil, "a block that was only taken is not safe")
        flow.ended(serials[2])
        flow.ended(serials[0])
        #expect(flow.take(try block(1)) == .wrong, "the token is still in use")
        #expect(flow.nextCall() == .acknowledge([3, 1]))
        #expect(flow.openBytes == 30, "bytes count until the call has returned")
        flow.acknowledgedAll()
        #expect(flow.openBytes == 10 && flow.openBlocks == 1 && flow.acknowledged == 2)
        flow.ended(serials[0])
        #expect(flow.nextCall() == nil, "a second end changes nothing")
        #expect(flow.take(try block(1)) == .taken)
    }

    @Test("at the bound the module pauses, and at half of it, it resumes")
    func pauses() throws {
        var flow = started(bound: 40)
        for token in 1...4 as ClosedRange<UInt64> { #expect(flow.take(try block(token, stream: token)) == .taken) }
        #expect(flow.nextCall() == .pause && flow.isPaused)
        #expect(flow.take(try block(5)) == .full)
        let serials = try (0..<4).map { _ in try next(&flow, at(0)).serial }
        flow.ended(serials[0])
        #expect(flow.nextCall() == .acknowledge([1]))
        flow.acknowledgedAll()
        #expect(flow.nextCall() == nil, "three quarters are still held")
        flow.ended(serials[1])
        #expect(flow.nextCall() == .acknowledge([2]))
        flow.acknowledgedAll()
        #expect(flow.nextCall() == .resume && !flow.isPaused)
        #expect(flow.nextCall() == nil)
    }

    @Test("after a refusal for lack of room the module is told to resume, also if room came before it was told to pause")
    func owes() throws {
        var flow = started(bound: 40)
        for token in 1...3 as ClosedRange<UInt64> { _ = flow.take(try block(token, stream: token)) }
        #expect(flow.take(try block(4, bytes: 20)) == .full)
        for _ in 0..<3 { flow.ended(try next(&flow, at(0)).serial) }
        #expect(flow.nextCall() == .acknowledge([1, 2, 3]))
        flow.acknowledgedAll()
        #expect(flow.nextCall() == .resume)
    }

    @Test("a large block that was refused has room when the module resumes, and one over the bound is taken alone")
    func large() throws {
        var flow = started(bound: 40)
        for token in 1...2 as ClosedRange<UInt64> { _ = flow.take(try block(token, stream: token)) }
        #expect(flow.take(try block(3, bytes: 35)) == .full)
        #expect(flow.nextCall() == .pause)
        for token in 1...2 as ClosedRange<UInt64> {
            flow.ended(try next(&flow, at(0)).serial)
            #expect(flow.nextCall() == .acknowledge([token]))
            #expect(flow.nextCall() == nil, "half is free, and the block has no room")
            flow.acknowledgedAll()
        }
        #expect(flow.nextCall() == .resume)
        #expect(flow.take(try block(3, bytes: 100)) == .taken)
        #expect(flow.take(try block(4)) == .full)
    }

    @Test("after the stop comes no pause and no resume, and ends are still acknowledged")
    func stopped() throws {
        var flow = started(bound: 10)
        _ = flow.take(try block(1))
        let serial = try next(&flow, at(0)).serial
        flow.stop()
        #expect(flow.nextCall() == .stop)
        #expect(flow.nextCall() == nil)
        flow.ended(serial)
        #expect(flow.nextCall() == .acknowledge([1]))
        flow.acknowledgedAll()
        #expect(flow.nextCall() == nil)
    }

    @Test("when the sink takes nothing more, what waits is neither submitted nor acknowledged")
    func sinkClosed() throws {
        var flow = started()
        for token in 1...2 as ClosedRange<UInt64> { _ = flow.take(try block(token)) }
        let first = try next(&flow, at(0))
        flow.closeSink()
        flow.taken(first.serial)
        #expect(flow.nextSubmission(now: at(9)) == nil && flow.nextTime == nil)
        flow.ended(first.serial)
        #expect(flow.nextCall() == .acknowledge([1]))
        flow.acknowledgedAll()
        #expect(flow.nextCall() == nil && flow.waitingBlocks == 1)
    }

    @Test("it is through when the module has ended and no block can come back")
    func through() throws {
        var flow = started()
        _ = flow.take(try block(1))
        flow.end()
        #expect(!flow.isThrough)
        let first = try next(&flow, at(0))
        #expect(!flow.isThrough)
        flow.taken(first.serial)
        #expect(flow.isThrough)
    }
}

@Suite("A block of a module")
struct SourceBlockTests {
    private func read(_ text: String, count: Int, limit: Int = 100) throws -> SourceBlock {
        try Array(text.utf8).withUnsafeBytes {
            try SourceBlock(copying: RawSourceBlock(token: 1, stream: 0, lines: $0, count: count), lineLimit: limit)
        }
    }

    private func text(_ block: SourceBlock) -> String {
        var lines = block.copyLines()
        let text = String(decoding: lines.bytes, as: UTF8.self)
        lines.removeAll()
        return text
    }

    private func fault(_ text: String, count: Int) -> String? {
        do {
            _ = try read(text, count: count)
            return nil
        } catch {
            return (error as? SourceBlock.Fault)?.words
        }
    }

    @Test("is refused without lines, with an unfinished line, or with another count")
    func refused() {
        #expect(fault("", count: 0) == "it has no line")
        #expect(fault("{}\n", count: 0) == "it has no line")
        #expect(fault("{}\n{}", count: 2) == "its last line does not end in a newline")
        #expect(fault("{}\n{}\n", count: 3) == "it has 2 lines, and its count is 3")
        #expect(fault("{}\n{}\n", count: 1) == "it has 2 lines, and its count is 1")
    }

    @Test("has its lines as they came, but a blank or overlong line becomes an invalid one with the reason")
    func replaced() throws {
        let plain = try read("{}\n{\"a\":1}\n", count: 2)
        #expect(text(plain) == "{}\n{\"a\":1}\n" && plain.reasons.isEmpty)
        let block = try read("{}\n\n \t\r\n{\"long\":\"xxxxxxxxxx\"}\n[]\n", count: 5, limit: 10)
        #expect(text(block) == "{}\n-\n-\n-\n[]\n")
        #expect(
            block.reasons == [1: "the line is empty", 2: "the line is empty", 3: "the line is longer than 10 bytes"])
    }
}
