// What a provider can be asked in place of a delivery: what it would send, and whether its destination accepts the credentials. What it
// answers comes from a module, in this process or in one of its own.

public import Delivery
public import Plans
internal import Platform

/// A provider that can be asked. Do not ask during a delivery.
public protocol Inquirable: Provider {
    /// Returns what the module would send for these events, or nil if the module cannot say that.
    func preview(_ batch: any BorrowedBatch) throws(ModuleFault) -> WirePreview?
    /// Asks the destination, and returns within the time and a few seconds, even if the module does not return. It returns nil if the
    /// module cannot ask.
    func probe(within time: Duration) -> ProbeFinding?
}

/// What a module would send for some events. It is for people: nothing in it holds a secret that the router knows, or a control character,
/// except that a body is as the module passed it, with secrets masked.
public struct WirePreview: Sendable, Equatable {
    public struct Request: Sendable, Equatable {
        public var method: String
        public var url: String
        public var headers: [String]
        public var body: [UInt8]
        /// True if the body was longer than is kept.
        public var isCut = false
        /// For each part of the body, the index of its event. An index may come twice.
        public var events: [Int]

        public init(method: String, url: String, headers: [String], body: [UInt8], events: [Int]) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
            self.events = events
        }
    }

    public var requests: [Request] = []
    /// The events that the module would refuse, each with its reason.
    public var refused: [Int: String] = [:]
    /// What would be lost of events that are sent.
    public var losses: [Int: [String]] = [:]
    /// True if the module passed more than is kept.
    public var isCut = false

    public init() {}

    /// The most requests, the most bytes of a body, and the most bytes of everything, that are kept.
    public static let mostRequests = 10_000
    public static let mostBody = 2 << 20
    public static let mostBytes = 32 << 20
}

/// What a probe has found out.
public struct ProbeFinding: Sendable, Equatable {
    public enum Kind: String, Sendable {
        /// The destination accepts the credentials and the settings that it can judge.
        case accepted
        case refused
        /// The destination was reached, and it cannot be asked about the credentials.
        case reached
        /// There was no answer that says anything.
        case failed
    }
    public var kind: Kind
    public var code: Int
    public var message: String

    public init(_ kind: Kind, code: Int = 0, _ message: String) {
        self.kind = kind
        self.code = code
        self.message = message
    }
}

extension ProbeFinding.Kind {
    /// The kinds in the order of their numbers in switchyard_plugin.h.
    private static let all: [Self] = [.accepted, .refused, .reached, .failed]

    init?(number: UInt32) {
        guard number < UInt32(ProbeFinding.Kind.all.count) else { return nil }
        self = ProbeFinding.Kind.all[Int(number)]
    }

    var number: UInt32 { UInt32(ProbeFinding.Kind.all.firstIndex(of: self)!) }
}
