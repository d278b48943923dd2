// The pings to systemd.

import Platform
import Testing

@testable import Startup

@Suite("The pings to systemd")
struct ServicePingsTests {
    private func interval(_ environment: [String: String]) -> Duration? { ServicePings.interval({ environment[$0] }, process: 7) }

    @Test("come four times in the time of the watchdog, if it is on for this process")
    func intervals() {
        #expect(interval([:]) == nil)
        #expect(interval(["WATCHDOG_USEC": "60000000"]) == .seconds(15))
        #expect(interval(["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "7"]) == .seconds(15))
        #expect(interval(["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "8"]) == nil)
        for broken in ["", "0", "-1", "x"] { #expect(interval(["WATCHDOG_USEC": broken]) == nil) }
    }

    @Test("come at once and at each interval while the router is healthy, and not while it is not")
    func pings() {
        let looks = Monitor(0)
        let pinged = Monitor<[Int]>([])
        // The interval is over at once, so that the test waits for no clock. The router is not healthy at the looks 3, 4 and 5.
        let pings = ServicePings(every: .zero, clock: .system) {
            let look = looks.withLock { looks in
                looks += 1
                return looks
            }
            return !(3...5).contains(look)
        } ping: {
            pinged.withLock { $0.append(looks.withLock { $0 }) }
            pinged.wake()
        }
        let thread = Thread.start("pings") { pings.run() }
        pinged.wait { $0.count < 4 }
        pings.end()
        thread.join()
        #expect(pinged.withLock { Array($0.prefix(4)) } == [1, 2, 6, 7])
    }
}
