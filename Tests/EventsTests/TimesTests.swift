import Events
import Testing

/// 2026-11-21T06:00:00Z
private let received: Int64 = 1_795_240_800_000_000_000

@Suite struct TimesOfClients {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01", 0), ("2026-11-21T06:00:00Z", received / 1_000_000_000),
            ("2026-11-21T06:00Z", received / 1_000_000_000),
            ("2026-11-21 07:00:00+0100", received / 1_000_000_000), ("2026-11-21T00:30:00-05:30", received / 1_000_000_000),
            ("2024-02-29T00:00:00z", 1_709_164_800),
            ("1969-12-31T23:59:59", -1), ("2026-11-21T07:00:00+01", received / 1_000_000_000), ("1900-03-01T00:00:00Z", -2_203_891_200),
        ] as [(String, Int64)])
    func areRead(_ text: String, _ seconds: Int64) {
        #expect(parse(text) == seconds * 1_000_000_000)
    }

    @Test(arguments: [
        "", "soon", "2026", "2026-13-01T00:00:00Z", "2026-02-29", "2026-11-21T24:00:00Z", "2026-11-21T06:00:00.Z", "2026-11-21T06:00:00Zx",
        "9999-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2026-11-21T06:00:00+", "1795240800000", "2026-11-21T",
    ])
    func thatAreNoneAreNone(_ text: String) { #expect(parse(text) == nil) }

    @Test func areWrittenAsTheyAreReadForEveryDayOfFiveCenturies() {
        var time: Int64 = -9_200_000_000_000_000_000
        while time < 9_200_000_000_000_000_000 {
            var out = ByteBuffer()
            Times.write(time, into: &out)
            let text = String(decoding: out.bytes, as: UTF8.self).dropFirst().dropLast()
            if parse(String(text)) != time { Issue.record("\(time) is written as \(text)") }
            time += 86_399_123_456_789
        }
    }

    private func parse(_ text: String) -> Int64? { Array(text.utf8).withUnsafeBufferPointer { Times.parse($0) } }
}
