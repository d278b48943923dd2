// The signal `context.consent.google`: the object of Google's consent mode, with signals that are granted or denied. By `map.google` it
// grants or denies the purposes for which it has a signal. Without `map.google` it is not read.

internal import Events
internal import Plans
internal import Signals

struct GoogleSignal: ConsentSignal {
    static let members = [
        MemberDeclaration(
            "context", "consent", "google", form: "an object of signals that are \"granted\" or \"denied\"")
    ]

    static let meaning: ConsentMeaningSchema? = ConsentMeaningSchema(
        "google", called: "purposes with signals", "The signals of Google's consent mode that must all be granted for a purpose.",
        .words(signals.map(\.word), called: "signals"))

    private static let signals: [(word: String, signal: ConsentMode.Signals)] = [
        ("ad_storage", .adStorage), ("analytics_storage", .analyticsStorage), ("ad_user_data", .adUserData),
        ("ad_personalization", .adPersonalization),
    ]

    private struct Rule: BitwiseCopyable {
        /// The bit of the purpose.
        let purpose: Int
        /// All of these signals must be granted.
        let signals: ConsentMode.Signals
    }

    private let google: SignalMember
    private let rules: UnsafeBufferPointer<Rule>

    init(_ members: [SignalMember], _ map: ConsentMapCompiler) {
        google = members[0]
        rules = map.rules("google") { purpose, meaning in
            Rule(
                purpose: purpose,
                signals: ConsentMode.Signals(GoogleSignal.signals.filter { meaning.words.contains($0.word) }.map(\.signal)))
        }
    }

    func read(_ event: ScannedEvent, _ reading: inout ConsentReading) {
        let slot = event.slots[google.slot]
        guard !rules.isEmpty, slot.isPresent else { return }
        guard let mode = mode(slot, event.block, reading: &reading) else { return reading.breaks(google) }
        for rule in rules where !rule.signals.isDisjoint(with: mode.said) {
            reading.cover(purpose: rule.purpose, isGranted: rule.signals.isSubset(of: mode.granted))
        }
    }

    /// Returns nil if the value is not an object, or if a signal has an invalid value.
    private func mode(_ slot: Slot, _ block: Bytes, reading: inout ConsentReading) -> ConsentMode? {
        guard block[Int(slot.start)] == UInt8(ascii: "{") else { return nil }
        var mode = ConsentMode()
        var p = skipSpace(block + Int(slot.start) + 1)
        while p[0] != UInt8(ascii: "}") {
            let end = stringEnd(p)
            let value = skipSpace(skipSpace(end) + 1)
            let rest = valueEnd(value)
            if let name = reading.decoder.decode(ByteRun(base: p + 1, count: end - p - 2)), let signal = ConsentMode.Signals(name.bytes) {
                guard value[0] == UInt8(ascii: "\""),
                    let word = reading.decoder.decode(ByteRun(base: value + 1, count: rest - value - 2)), mode.note(signal, word.bytes)
                else { return nil }
            }
            p = skipSpace(rest)
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        return mode
    }
}
