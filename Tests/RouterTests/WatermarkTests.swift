// Tests for blocks that become safe out of order.

import Platform
import Testing

@testable import Router

@Suite("The watermark of safe blocks")
struct WatermarkTests {
    @Test("calls back for a block only when all blocks before it are safe, in the order of the blocks")
    func order() {
        let watermark = Watermark()
        let said = Monitor<[Int]>([])
        for expected in 0..<4 { #expect(watermark.enter() == expected) }
        func settle(_ block: Int) { watermark.settle(block) { said.withLock { $0.append(block) } } }
        settle(2)
        settle(1)
        #expect(said.withLock { $0 } == [])
        settle(0)
        #expect(said.withLock { $0 } == [0, 1, 2])
        watermark.settle(3)
        #expect(watermark.enter() == 4)
        settle(4)
        #expect(said.withLock { $0 } == [0, 1, 2, 4], "a block without a callback does not delay others")
    }
}
