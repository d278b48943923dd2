import Testing

@testable import Configuration
@testable import Document
@testable import Plans

@Suite("Units")
struct UnitsTests {
    @Test(
        "sizes are read in bytes",
        arguments: [
            ("0B", 0), ("1B", 1), ("16MB", 16_000_000), ("512KiB", 524_288), ("3KB", 3000), ("2GB", 2_000_000_000), ("1MiB", 1_048_576),
            ("4GiB", 4_294_967_296), ("1.5KB", 1500), ("0.5KiB", 512), ("007B", 7),
        ])
    func sizes(text: String, bytes: Int) throws { #expect(try Quantity.size.parse(text) == bytes) }

    @Test(
        "times are read in milliseconds",
        arguments: [
            ("0s", 0), ("500ms", 500), ("1s", 1000), ("5m", 300_000), ("24h", 86_400_000), ("7d", 604_800_000), ("1.5s", 1500),
            ("0.25m", 15_000),
        ])
    func times(text: String, milliseconds: Int) throws { #expect(try Quantity.time.parse(text) == milliseconds) }

    @Test(
        "rates are read in events per day, and written in the shortest exact way",
        arguments: [
            ("1/d", 1, "1/d"), ("1/h", 24, "1/h"), ("30/m", 43_200, "30/m"), ("100/s", 8_640_000, "100/s"), ("0.5/s", 43_200, "30/m"),
            ("60/m", 86_400, "1/s"), ("1000000000/s", 86_400_000_000_000, "1000000000/s"),
        ])
    func rates(text: String, events: Int, written: String) throws {
        #expect(try Quantity.rate.parse(text) == events)
        #expect(EventRate(perDay: events).configured == written)
    }

    @Test(
        "an invalid size is refused with a suggestion",
        arguments: [
            ("16", ", did you mean \"16B\"?"), ("16000000", ", did you mean \"16MB\"?"), ("1048576", ", did you mean \"1MiB\"?"),
            ("16mb", ", did you mean \"16MB\"?"), ("16 MB", ", did you mean \"16MB\"?"), ("1kib", ", did you mean \"1KiB\"?"),
            ("16M", ", the units are B, KB, MB, GB, KiB, MiB and GiB"), ("5s", ", the units are B, KB, MB, GB, KiB, MiB and GiB"),
            ("", ""), ("MB", ""), ("-1MB", ""), (".5MB", ""), ("1.MB", ""), ("1.5", ", it needs a unit"), ("+1B", ""), (" 1B", ""),
            ("1.5B", ", which is not a whole number of B"), ("0.0001KB", ", which is not a whole number of B"),
            ("0", ""), ("99999999999999999999B", ", which is too large"), ("9999999999GiB", ", which is too large"),
        ])
    func wrongSizes(text: String, hint: String) { #expect(refusal(.size, text) == hint) }

    @Test(
        "an invalid time is refused with a suggestion",
        arguments: [
            ("5", ", did you mean \"5ms\" or \"5s\"?"), ("5S", ", did you mean \"5s\"?"), ("5 s", ", did you mean \"5s\"?"),
            ("5min", ", the units are ms, s, m, h and d"), ("1.0001s", ", which is not a whole number of ms"),
            ("1000000d", ", which is too large"),
            ("s", ""), ("1h30m", ", the units are ms, s, m, h and d"),
        ])
    func wrongTimes(text: String, hint: String) { #expect(refusal(.time, text) == hint) }

    @Test(
        "a quantity is written in the shortest exact way",
        arguments: [
            (0, "0B"), (1, "1B"), (1000, "1KB"), (1024, "1KiB"), (1025, "1025B"), (16_000_000, "16MB"), (1 << 30, "1GiB"),
        ])
    func written(bytes: Int, text: String) { #expect(Quantity.size.text(bytes) == text) }

    private func refusal(_ quantity: Quantity, _ text: String) -> String? {
        do throws(Quantity.Fault) {
            _ = try quantity.parse(text)
            return nil
        } catch {
            return error.hint
        }
    }
}
