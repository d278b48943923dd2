// The basic forms whose values only a plan has: globs and rates.

internal import Document
internal import FormReading
internal import Plans

extension Forms {
    /// A number of events per unit of time.
    static let rate = quantity(.rate, range: 1 ... .max, schema: SchemaParts.rate).then { events, _, _ in EventRate(perDay: events) }

    static let glob = Form<Glob>(SchemaParts.glob) { node, reading in
        guard let text = string.read(node, reading) else { return nil }
        if let must = Glob.fault(text.value) {
            reading.refuse(node, must)
            return nil
        }
        return Glob(text.value)
    }.showing(#""item_*""#)

    static let globKey = KeyForm<Glob>(schema: SchemaParts.globKey, example: "item_*") { key, node, reading in
        guard let must = Glob.fault(key.name) else { return Glob(key.name) }
        reading.fault(node, at: key.range.lowerBound, "the key \(Words.quoted(key.name)) must be \(must)")
        return nil
    }
}
