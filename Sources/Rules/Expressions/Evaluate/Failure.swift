// A failure says why an evaluation gave no value, and which part of the expression failed. It is a plain value that needs no allocation,
// since many events lack a member. The message is made only when it is needed.

enum Problem: UInt8, Error {
    case missingMember, missingKey, noOverload, notBoolean, divisionByZero, overflow, range, index, text
    case timestamp, duration, zone, number, boolean, address, network, version, pattern, patternLibrary
    case format, base64, emptyList, noValue, optional, duplicateKey, unknownName, unknownFunction
    case steps, eventSteps, size, depth

    var words: String {
        switch self {
        case .missingMember: "the event has no such member"
        case .missingKey: "there is no such key"
        case .noOverload: "the types do not fit"
        case .notBoolean: "this is neither true nor false"
        case .divisionByZero: "division by zero"
        case .overflow: "the number leaves its range"
        case .range: "the value is beyond the range of this type"
        case .index: "the index is out of range"
        case .text: "this is not UTF-8 text"
        case .timestamp: "this is not a timestamp between the years 1 and 9999, such as \"2024-06-10T12:00:00Z\""
        case .duration: "this is not a duration of at most 292 years, such as \"1h30m\" or \"250ms\""
        case .zone: "there is no such time zone; names are like \"Europe/Berlin\", offsets like \"+02:00\""
        case .number: "this text is not a number of this type"
        case .boolean: "this text is neither true nor false"
        case .address: "this is not an IP address"
        case .network: "this is not a network, such as \"10.0.0.0/8\""
        case .version: "this is not a version, such as \"1.2.3\""
        case .pattern: "this is not a regular expression that RE2 accepts, or it is too large"
        case .patternLibrary: "matches needs libswitchyard-patterns.so beside the program, and libre2"
        case .format: "the format and its arguments do not fit"
        case .base64: "this is not base64"
        case .emptyList: "the list is empty"
        case .noValue: "the optional has no value"
        case .optional: "an optional cannot be written; end it with .orValue(…) or .value()"
        case .duplicateKey: "the key is there twice"
        case .unknownName: "nothing has this name"
        case .unknownFunction: "there is no such function"
        case .steps: "the evaluation takes more steps than it may"
        case .eventSteps: "the expressions and masks of the event take more steps than they may together"
        case .size: "the evaluation makes more or larger values than it may"
        case .depth: "the values nest deeper than an evaluation may go"
        }
    }
}

struct Failure: Error {
    var problem: Problem
    var start: Int32
    var end: Int32
}

/// An expression gave no value.
public struct EvaluationFault: Error, Hashable, Sendable, CustomStringConvertible {
    public var message: String
    /// The range of the part that could not be evaluated, in bytes of the expression.
    public var range: Range<Int>
    /// The text of that part, as it is written.
    public var part: String

    init(_ failure: Failure, in text: String) {
        range = Int(failure.start)..<Int(failure.end)
        assert(!range.isEmpty && range.upperBound <= text.utf8.count, "the part that failed is not in the expression")
        part = String(decoding: Array(text.utf8)[range], as: UTF8.self)
        message = failure.problem.words
    }

    /// True if the event lacks a member that the expression reads.
    public var isMissingMember: Bool { message == Problem.missingMember.words }

    /// Makes the fault of a condition that gave neither true nor false.
    public init(notBooleanIn expression: Expression) {
        self.init(expression.code.failure(.notBoolean), in: expression.text)
    }

    public var description: String { "\(part): \(message)" }
}
