// Reads consent in foreign formats by the map of the section: TCF strings, GPP strings and Google's consent mode. A signal caps each
// purpose that it covers; opt-outs refuse. Signals without a map are not read.

internal import Events
internal import Signals

struct MappedSignals {
    private let rules: ConsentRules
    private let granted: UnsafeMutablePointer<UInt64>
    private let refused: UnsafeMutablePointer<UInt64>
    private let spoken: UnsafeMutablePointer<UInt64>
    /// True if a section of a GPP string says that Global Privacy Control was on.
    private(set) var isGlobalControl = false
    /// A bit for each `ConsentMember` that is broken.
    private(set) var broken: UInt16 = 0

    /// Makes a reader for one event. It removes from `granted` what a signal does not allow. It adds to `refused` what a signal refuses,
    /// and to `spoken` the purposes that a signal covers.
    init(
        _ rules: ConsentRules, granted: UnsafeMutablePointer<UInt64>, refused: UnsafeMutablePointer<UInt64>,
        spoken: UnsafeMutablePointer<UInt64>
    ) {
        self.rules = rules
        self.granted = granted
        self.refused = refused
        self.spoken = spoken
    }

    mutating func read(_ event: ScannedEvent, _ decoder: inout Decoder) -> ConsentReader.Signal {
        let (members, map) = (rules.members, rules.map)
        let (tcf, gpp, google) = (event.slots[members.tcf], event.slots[members.gpp], event.slots[members.google])
        var signal = ConsentReader.Signal.silent
        func add(_ next: ConsentReader.Signal, _ member: ConsentMember) {
            if next == .broken { broken |= 1 << member.rawValue }
            signal = max(signal, next)
        }
        if !map.tcf.isEmpty, tcf.isPresent { add(readTCF(tcf, block: event.block, decoder: &decoder), .tcf) }
        if !map.tcf.isEmpty || !map.gpp.isEmpty, gpp.isPresent { add(readGPP(gpp, block: event.block, decoder: &decoder), .gpp) }
        if !map.google.isEmpty, google.isPresent { add(readGoogle(google, block: event.block, decoder: &decoder), .google) }
        return signal
    }

    private func readTCF(_ slot: Slot, block: Bytes, decoder: inout Decoder) -> ConsentReader.Signal {
        guard let raw = slot.string(in: block), let text = decoder.decode(raw) else { return .broken }
        // A consent platform that has nothing to ask leaves an empty string.
        if text.count == 0 { return .silent }
        guard let string = TCString(text.bytes) else { return .broken }
        return cap(by: string)
    }

    private mutating func readGPP(_ slot: Slot, block: Bytes, decoder: inout Decoder) -> ConsentReader.Signal {
        guard let raw = slot.string(in: block), let text = decoder.decode(raw) else { return .broken }
        if text.count == 0 { return .silent }
        guard let string = GPPString(text.bytes) else { return .broken }
        isGlobalControl = string.isGlobalControl
        for rule in rules.map.gpp where !rule.any.isDisjoint(with: string.optOuts) {
            refused[rule.purpose / 64] |= 1 << UInt64(rule.purpose % 64)
        }
        guard let tcf = string.tcf else { return .silent }
        return cap(by: tcf)
    }

    private func cap(by string: TCString) -> ConsentReader.Signal {
        for rule in rules.map.tcf { speak(of: rule.purpose, isGranted: rule.isGranted(by: string)) }
        return rules.map.tcf.isEmpty ? .silent : .said
    }

    private func readGoogle(_ slot: Slot, block: Bytes, decoder: inout Decoder) -> ConsentReader.Signal {
        guard let mode = readMode(slot, block: block, decoder: &decoder) else { return .broken }
        var isSaid = false
        for rule in rules.map.google where !rule.all.isDisjoint(with: mode.said) {
            speak(of: rule.purpose, isGranted: rule.all.isSubset(of: mode.granted))
            isSaid = true
        }
        return isSaid ? .said : .silent
    }

    /// Returns nil if the value is not an object, or if a signal has an invalid value.
    private func readMode(_ slot: Slot, block: Bytes, decoder: inout Decoder) -> ConsentMode? {
        guard block[Int(slot.start)] == UInt8(ascii: "{") else { return nil }
        var mode = ConsentMode()
        var p = skipSpace(block + Int(slot.start) + 1)
        while p[0] != UInt8(ascii: "}") {
            let end = stringEnd(p)
            let value = skipSpace(skipSpace(end) + 1)
            let rest = valueEnd(value)
            if let name = decoder.decode(ByteRun(base: p + 1, count: end - p - 2)), let signal = ConsentMode.Signals(name.bytes) {
                guard value[0] == UInt8(ascii: "\""), let word = decoder.decode(ByteRun(base: value + 1, count: rest - value - 2)),
                    mode.note(signal, word.bytes)
                else { return nil }
            }
            p = skipSpace(rest)
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        return mode
    }

    private func speak(of purpose: Int, isGranted: Bool) {
        let bit = 1 << UInt64(purpose % 64) as UInt64
        spoken[purpose / 64] |= bit
        if !isGranted { granted[purpose / 64] &= ~bit }
    }
}
