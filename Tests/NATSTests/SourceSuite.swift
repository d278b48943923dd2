// What the suites of the source do to start it, to let its time pass and to end it.

import PluginKit
import TestSupport

@testable import NATS

protocol SourceSuite {
    var router: FakeRouter { get }
}

extension SourceSuite {
    /// A clock that is later than that of the system, so that no wait of the source ends by itself.
    func manualClock() -> ManualClock {
        let start: Int64 = 1_000_000_000_000_000_000
        return ManualClock(wall: start, instant: Instant(nanoseconds: start))
    }

    func started(_ jetStream: FakeJetStream, clock: Clock = .system, _ more: String = "") throws -> NATSSource {
        let source = try NATSSource(jetStream, router, clock: clock, more)
        source.start()
        return source
    }

    /// Lets the time advance, and makes the source look at it.
    func advance(_ time: ManualClock, _ duration: Duration, _ source: NATSSource) {
        time.advance(duration)
        source.acknowledge([])
    }

    func end(_ source: NATSSource, _ jetStream: FakeJetStream) {
        source.stop(withinMilliseconds: 1_000)
        source.close()
        jetStream.close()
    }
}
