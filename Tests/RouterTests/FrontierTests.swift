// Blocks that become safe out of order.

import Platform
import Testing

@testable import Router

@Suite("The frontier of safe blocks")
struct FrontierTests {
    @Test("says of a block that it is safe only when all before it are, in their order")
    func order() {
        let frontier = Frontier()
        let said = Monitor<[Int]>([])
        for expected in 0..<4 { #expect(frontier.enter() == expected) }
        func settle(_ block: Int) { frontier.settle(block) { said.withLock { $0.append(block) } } }
        settle(2)
        settle(1)
        #expect(said.withLock { $0 } == [])
        settle(0)
        #expect(said.withLock { $0 } == [0, 1, 2])
        frontier.settle(3)
        #expect(frontier.enter() == 4)
        settle(4)
        #expect(said.withLock { $0 } == [0, 1, 2, 4], "one that has nothing to say holds nobody up")
    }
}
