// What `limit` and `lower` do with a value that is no string. By default it stays, since a number or a list has no length and no case. With
// `"other": "drop"` no value passes that the step did not change or check.

internal import FormReading
internal import Redaction

public enum OtherValues: String, Sendable, CaseIterable {
    case keep, drop

    static let form = Forms.choice(OtherValues.self)
    static let about = "What becomes of a value that is no string: keep leaves it as it is, drop removes the member."

    var outcome: ValueOutcome { self == .drop ? .drop : .unchanged }
    var summary: String { self == .drop ? ", drop what is no string" : "" }
    var effect: String { self == .drop ? ", dropped if it is no string" : "" }
}
