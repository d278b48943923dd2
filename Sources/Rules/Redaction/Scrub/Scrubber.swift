// `scrub`: finds personal data anywhere in the strings of an event, including its keys, and computes the changes to the event's bytes.
// It makes one pass; only a string that could hold a find is read twice. Numbers are not searched.
// If nothing is found, no byte changes. Then memory is allocated only for a string with escapes that is longer than all before.

public import Events

public struct Scrubber: ~Copyable {
    /// The changes to the event that was scrubbed last.
    public private(set) var replacements = Replacements()
    /// The kinds that were found in it. With `reject`, only the kind of the first find.
    public private(set) var found: SensitiveSet = []
    /// The number of finds of each kind, by `Sensitive.rawValue`.
    private var counts = SIMD16<UInt32>()

    private let kinds: SensitiveSet
    private let countries: CountrySet
    private let action: Scrub.Action
    private let strings = Strings()
    private let starts = Starts.tables
    private var unescaped = DecodedText()
    private var percentDecoded = DecodedText()
    /// The start of the event that is scrubbed.
    private var floor = 0
    private var remover = Remover()
    /// The positions and lengths of the texts, by kind.
    private let texts: UnsafeMutablePointer<(place: Int, count: Int)>
    /// The number of keys of this event that have changed.
    private var keys = 0

    public init(_ scrub: Scrub) {
        kinds = scrub.kinds
        countries = scrub.countries
        action = scrub.action
        texts = .allocate(capacity: scrub.texts.count)
        for (i, text) in scrub.texts.enumerated() {
            let json = JSONText.body(text)
            (texts + i).initialize(to: (replacements.keep(json), json.count))
        }
        remover.keepTexts(&replacements)
    }

    deinit { texts.deallocate() }

    /// Returns the number of finds of a kind in the event that was scrubbed last.
    public func count(of kind: Sensitive) -> Int { Int(counts[Int(kind.rawValue)]) }

    /// Scrubs the values of these slots, or the whole event if there are no slots. Returns true if something was found. Then `replacements`
    /// holds the changes, unless the event is to be rejected. The string in the slot `spared` stays as it is. If `spared` is 0, all strings
    /// are scrubbed.
    public mutating func scrub(_ event: ScannedEvent, in slots: UnsafeBufferPointer<Int>, sparing spared: Int = 0) -> Bool {
        replacements.removeAll()
        remover.removeAll()
        found = []
        counts = SIMD16()
        keys = 0
        floor = Int(event.start)
        let sparedStart = event.slots[spared].isPresent ? Int(event.slots[spared].start) : -1
        Spans.forEach(event, in: slots) { start, end in look(event.block, start: start, end: end, spared: sparedStart) }
        if action == .drop, !found.isEmpty {
            remover.remove(event.block, start: Int(event.start), end: Int(event.end), replacements: &replacements)
        }
        return !found.isEmpty
    }

    private mutating func look(_ block: Bytes, start: Int, end: Int, spared: Int) {
        var i = start
        while let span = strings.next(block, i: &i, end: end) {
            if span.seen.contains(.escape) || Strings.canHoldPercent(span.seen) {
                lookAtEscaped(block, span: span, spared: spared)
            } else {
                let count = span.bodyEnd - span.bodyStart
                let possible = starts.possible(span.seen, count).intersection(kinds)
                if possible.isEmpty || span.start == spared { continue }
                let text = Subject(base: block + span.bodyStart, count: count)
                take(finder(text, seen: span.seen, possible, span, block), block: block, span: span, encoding: .none)
            }
            if action == .reject, !found.isEmpty { return }
        }
    }

    private func finder(_ text: Subject, seen: Seen, _ possible: SensitiveSet, _ span: StringSpan, _ block: Bytes) -> Finder {
        let around = Surroundings(block: block, quote: span.start, floor: floor)
        return Finder(text, seen: seen, possible: possible, countries: countries, around: around)
    }

    /// How the text that is searched was written in the event.
    private enum Encoding { case none, escapes, percents }

    /// Searches a string that is written with escapes of JSON, of a URL, or of both.
    @inline(never) private mutating func lookAtEscaped(_ block: Bytes, span: StringSpan, spared: Int) {
        guard span.start != spared else { return }
        var text = Subject(base: block + span.bodyStart, count: span.bodyEnd - span.bodyStart)
        var encoding = Encoding.none
        if span.seen.contains(.escape) {
            JSONEscapes.decode(block, start: span.bodyStart, end: span.bodyEnd, into: &unescaped)
            text = unescaped.text
            encoding = .escapes
        }
        var seen = encoding == .none ? span.seen : strings.seen(text)
        if Strings.canHoldPercent(seen), PercentEscapes.areIn(text) {
            if encoding == .escapes {
                let places = unescaped.places
                PercentEscapes.decode(text, into: &percentDecoded) { Int(places[$0]) }
            } else {
                PercentEscapes.decode(text, into: &percentDecoded) { span.bodyStart + $0 }
            }
            text = percentDecoded.text
            encoding = .percents
            seen = strings.seen(text)
        }
        let possible = starts.possible(seen, text.count).intersection(kinds)
        if possible.isEmpty { return }
        take(finder(text, seen: seen, possible, span, block), block: block, span: span, encoding: encoding)
    }

    private mutating func take(_ finder: Finder, block: Bytes, span: StringSpan, encoding: Encoding) {
        var find = finder.next(0)
        guard find != nil else { return }
        switch action {
        case .reject: note(find!.kind)
        case .drop:
            remover.note(span.start)
            while let one = find {
                note(one.kind)
                find = finder.next(one.end)
            }
        case .replace:
            while let one = find {
                note(one.kind)
                let text = texts[Int(one.kind.rawValue)]
                let (start, end) = (place(one.start, span, encoding), place(one.end, span, encoding))
                replacements.append(start, end, text: text.place, count: text.count)
                find = finder.next(one.end)
            }
            if span.isKey(block) { numberKey(span.bodyEnd) }
        }
    }

    /// Returns the position in the event of byte i of the text that was searched.
    private func place(_ i: Int, _ span: StringSpan, _ encoding: Encoding) -> Int {
        switch encoding {
        case .none: span.bodyStart + i
        case .escapes: unescaped.place(i)
        case .percents: percentDecoded.place(i)
        }
    }

    private mutating func note(_ kind: Sensitive) {
        found.insert(SensitiveSet(kind))
        counts[Int(kind.rawValue)] &+= 1
    }

    /// Two keys that become the same text must not become the same key. So all changed keys except the first get a number.
    private mutating func numberKey(_ end: Int) {
        keys += 1
        guard keys > 1 else { return }
        let begun = replacements.textEnd
        replacements.put(UInt8(ascii: "-"))
        var tens = 1
        while keys / tens >= 10 { tens *= 10 }
        while tens > 0 {
            replacements.put(UInt8(truncatingIfNeeded: keys / tens % 10) + 0x30)
            tens /= 10
        }
        replacements.append(end, end, textSince: begun)
    }
}
