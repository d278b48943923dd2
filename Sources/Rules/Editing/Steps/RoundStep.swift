// `round`: rounds a number to the nearest multiple, or a time down to the beginning of its minute, hour or day. A string that contains only a
// number counts as a number. Any other value is dropped, because it would be delivered with more detail than intended.

internal import Document
public import Events
internal import FormReading
internal import Redaction

public struct RoundStep: Step {
    public enum TimeUnit: String, Sendable, CaseIterable { case minute, hour, day }

    public enum Unit: Sendable, Equatable {
        /// The multiple, written as in the file.
        case multiple(String)
        case time(TimeUnit)
    }

    public var members: [(path: Path, to: Unit)]

    public init(_ members: [(path: Path, to: Unit)]) { self.members = members }

    static let declaration = StepDeclaration(
        "round", "Rounds a number to the nearest multiple, or a time down to its minute, hour or day.",
        example: .init(
            #"{"properties.price": 0.5, "timestamp": "hour"}"#,
            event: #"{"timestamp":"2026-03-04T14:35:02Z","properties":{"price":19.9}}"#,
            result: #"{"timestamp":"2026-03-04T14:00:00Z","properties":{"price":20}}"#),
        samples: [
            #"{"$path":10}"#, #"{"$path":0.25,"$path":3}"#, #"{"$path":1.000000001}"#, #"{"$path":"minute","$path":"hour"}"#,
            #"{"$path":"day"}"#,
        ],
        form: Forms.table("paths with steps", by: Forms.pathKey, of: unit).then { table, _, _ in
            RoundStep(table.map { (path: $0.key, to: $0.value) })
        })

    private static let unit = Form<Unit>(
        SchemaParts.anyOf([#"{"type":"number","exclusiveMinimum":0}"#, SchemaParts.choice(TimeUnit.allCases.map(\.rawValue))])
    ) { node, reading in
        guard case .number(let text) = node.value else {
            if node.text != nil { return Forms.choice(TimeUnit.self).read(node, reading).map(Unit.time) }
            reading.refuseType(node, "a number, or \"minute\", \"hour\" or \"day\"")
            return nil
        }
        let digits = text.utf8.firstIndex(of: UInt8(ascii: ".")).map { text.utf8.distance(from: $0, to: text.utf8.endIndex) - 1 } ?? 0
        guard let step = Double(text), step > 0, step < 1e15, digits <= 9, !text.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "e") })
        else {
            reading.refuse(node, "above 0, written without an exponent, with at most 9 digits after the decimal point")
            return nil
        }
        return .multiple(text)
    }

    public var paths: [Path] { members.map(\.path) }

    public func summary(_ shown: (String) -> String) -> String {
        members.map { member in
            let path = shown(member.path.description)
            return switch member.to {
            case .multiple(let step): "round \(path) to multiples of \(step)"
            case .time(let unit): "round \(path) down to the \(unit.rawValue)"
            }
        }.joined(separator: ", ")
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        members.map { member in
            switch member.to {
            case .multiple(let step): MemberEffect(.changed, [member.path], "coarser: rounded to multiples of \(step)", hides: true)
            case .time(let unit): MemberEffect(.changed, [member.path], "coarser: rounded down to the \(unit.rawValue)", hides: true)
            }
        }
    }

    public func code(_ resources: StepResources) -> StepCode {
        .stages(
            members.flatMap { member in
                ChangeStage.rules([member.path]) { () -> any Changing in
                    switch member.to {
                    case .multiple(let step): RoundChange(step)
                    case .time(let unit): TimeChange(unit)
                    }
                }
            })
    }
}

final class RoundChange: Changing {
    private let step: Double
    /// The number of digits of the step after the decimal point.
    private let digits: Int

    init(_ text: String) {
        step = Double(text)!
        digits = text.utf8.firstIndex(of: UInt8(ascii: ".")).map { text.utf8.distance(from: $0, to: text.utf8.endIndex) - 1 } ?? 0
    }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard let number = numberIn(value) else { return .drop }
        let steps = (number / step).rounded(.toNearestOrAwayFromZero)
        let result = digits == 0 ? multiple(number) : steps * step
        // A Double does not represent larger results exactly, so the number stays as it is.
        guard abs(steps) < 9e15, abs(result) < 9e15 else { return .unchanged }
        write(result, &out)
        return .put
    }

    /// Returns the nearest multiple of a step without digits after the decimal point. The quotient of a large number is not exact, and a
    /// number below the middle of two multiples could seem to be in the middle. The remainder is exact, and so is its double.
    private func multiple(_ number: Double) -> Double {
        let remainder = number.magnitude.truncatingRemainder(dividingBy: step)
        let below = number.magnitude - remainder
        return remainder * 2 < step ? (number < 0 ? -below : below) : (number < 0 ? -below - step : below + step)
    }

    /// Writes the number with at most the digits of the step, without zeros at the end.
    private func write(_ number: Double, _ out: inout Replacements) {
        var scale: Int64 = 1
        for _ in 0..<digits { scale *= 10 }
        // The two parts are separate because a large number with many digits after the decimal point does not fit in 64 bits.
        var whole = Int64(abs(number))
        var fraction = Int64(((abs(number) - Double(whole)) * Double(scale)).rounded())
        if fraction == scale { (whole, fraction) = (whole + 1, 0) }
        let isZero = whole == 0 && fraction == 0
        var text = "\(whole)"
        if fraction > 0 {
            var width = digits
            while fraction % 10 == 0 {
                fraction /= 10
                width -= 1
            }
            let shown = "\(fraction)"
            text += "." + String(repeating: "0", count: width - shown.utf8.count) + shown
        }
        if number < 0, !isZero { text = "-" + text }
        text.withUTF8 { out.put($0.baseAddress!, $0.count) }
    }
}

/// Rounds a time down. A string must be a time as in RFC 3339, which keeps its offset, or a date, which stays as it is. A number is the seconds
/// since 1970, or the milliseconds if it is 100,000,000,000 or more, or as far below zero. Every other value is dropped.
final class TimeChange: Changing {
    private let unit: RoundStep.TimeUnit

    init(_ unit: RoundStep.TimeUnit) { self.unit = unit }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        if value.base[0] == UInt8(ascii: "\"") { return changeText(value, &out) }
        guard value.isNumber, let number = numberIn(value), abs(number) < 9e15 else { return .drop }
        let length: Int64 = (unit == .minute ? 60 : unit == .hour ? 3600 : 86_400) * (abs(number) >= 1e11 ? 1000 : 1)
        let whole = Int64(number.rounded(.down))
        let floor = whole - ((whole % length) + length) % length
        var text = "\(floor)"
        text.withUTF8 { out.put($0.baseAddress!, $0.count) }
        return .put
    }

    private func changeText(_ value: ByteRun, _ out: inout Replacements) -> ValueOutcome {
        let text = ByteRun(base: value.base + 1, count: value.count - 2)
        guard RFC3339.isDate(text) else { return .drop }
        if text.count == 10 { return .unchanged }
        guard let zone = RFC3339.zone(text) else { return .drop }
        out.put(value.base, 11)
        out.put(UInt8(ascii: "T"))
        let kept = unit == .day ? 0 : unit == .hour ? 2 : 5
        let zeros: StaticString = "00:00:00"
        for index in 0..<8 { out.put(index < kept ? text.base[11 + index] : zeros.utf8Start[index]) }
        out.put(text.base + zone, text.count - zone)
        out.put(UInt8(ascii: "\""))
        return .put
    }
}
