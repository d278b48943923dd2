import Platform
import Testing

@testable import Terminal

@Suite("The line that shows progress")
struct ProgressLineTests {
    private let second = Instant(nanoseconds: 1_000_000_000)

    @Test("with a known size it shows the share, the speed and the time left")
    func known() {
        let line = ProgressLine(began: Instant(nanoseconds: 0), size: 4_000_000)
        #expect(
            line.text(bytes: 1_000_000, events: 1500, now: second, width: 79)
                == "[######.....................] 25 %  1.0 MB of 4.0 MB  1,500 events/s  0:03 left")
    }

    @Test("bytes of earlier runs count for the share, but not for the time")
    func before() {
        let line = ProgressLine(began: Instant(nanoseconds: 0), size: 4_000_000, before: 2_000_000)
        #expect(
            line.text(bytes: 3_000_000, events: 10, now: second, width: 200).hasSuffix("75 %  3.0 MB of 4.0 MB  10 events/s  0:01 left"))
    }

    @Test("without a size it shows counts, and it fits a narrow terminal")
    func unknown() {
        let line = ProgressLine(began: Instant(nanoseconds: 0), size: nil)
        #expect(line.text(bytes: 12, events: 3, now: second, width: 79) == "12 B  3 events  3 events/s")
        #expect(line.text(bytes: 12, events: 3, now: second, width: 10) == "12 B  3 ev")
        #expect(ProgressLine.time(3725) == "1:02:05" && amount(999_960) == "1.0 MB" && amount(123_400_000) == "123 MB")
    }
}
