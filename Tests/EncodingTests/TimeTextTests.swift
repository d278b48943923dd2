import Encoding
import Testing

@Suite("Times and dates")
struct TimeTextTests {
    @Test(
        "are written with three digits after the point, or with as many as are needed",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z"),
            (1_795_240_800_123_000_000, "2026-11-21T06:00:00.123Z", "2026-11-21T06:00:00.123Z"),
            (1_795_240_800_123_456_000, "2026-11-21T06:00:00.123Z", "2026-11-21T06:00:00.123456Z"),
            (1_795_240_800_123_456_789, "2026-11-21T06:00:00.123Z", "2026-11-21T06:00:00.123456789Z"),
            (-1, "1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999999999Z"),
            (-86_400_000_000_000, "1969-12-31T00:00:00.000Z", "1969-12-31T00:00:00.000Z"),
            (.min, "1677-09-21T00:12:43.145Z", "1677-09-21T00:12:43.145224192Z"),
            (.max, "2262-04-11T23:47:16.854Z", "2262-04-11T23:47:16.854775807Z"),
        ] as [(Int64, String, String)])
    func texts(time: Int64, milliseconds: String, exact: String) {
        #expect(text(time, .milliseconds) == milliseconds)
        #expect(text(time, .exact) == exact)
    }

    @Test("follow each other day by day for a thousand years, with the length of each month")
    func calendar() {
        var date = CivilDate(year: 1600, month: 1, day: 1)
        for days in date.daysSince1970..<CivilDate(year: 2600, month: 1, day: 1).daysSince1970 {
            if date.daysSince1970 != days || CivilDate(daysSince1970: days) != date { Issue.record("\(days) is not \(date)") }
            if date.day < CivilDate.days(inMonth: date.month, of: date.year) {
                date = CivilDate(year: date.year, month: date.month, day: date.day + 1)
            } else {
                date = CivilDate(year: date.month == 12 ? date.year + 1 : date.year, month: date.month % 12 + 1, day: 1)
            }
        }
        #expect(date == CivilDate(year: 2600, month: 1, day: 1))
        #expect(CivilDate(daysSince1970: 0) == CivilDate(year: 1970, month: 1, day: 1))
        #expect([1900, 2000, 2023, 2024].map { CivilDate.days(inMonth: 2, of: $0) } == [28, 29, 28, 29])
    }

    private func text(_ time: Int64, _ fraction: TimeText.Fraction) -> String {
        var bytes: [UInt8] = []
        TimeText.write(time, to: fraction) { bytes.append($0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
