// An event as somebody sees it who looks at a running router: the names of its members, or its text. The text is masked as in an explanation:
// the values of members that routes hash, the hashes, and texts from the environment or a file are replaced by a word. It takes any line, and
// shows nothing of one that is not an event.

internal import Document
internal import Editing
internal import Events
public import Plans

public struct EventView {
    private let line: [UInt8]
    private let plan: Plan
    private let mask: Mask

    /// The most names of members that are shown.
    static let mostNames = 200

    /// Returns nil if the line is not an event.
    public init?(_ line: [UInt8], of plan: Plan) {
        guard EventMembers.isEvent(line) else { return nil }
        self.line = line
        self.plan = plan
        mask = Mask(hidden: plan.hidden)
    }

    /// The paths of the members that hold a value, a list or an empty object, in their order. No value is among them.
    public var memberNames: [String] {
        var lexer = Lexer(line)
        var names: [String] = []
        var keys: [String] = []
        /// For each open bracket, whether it is that of an object.
        var isObject: [Bool] = []
        var key: String?
        var lists = 0
        var before = Token.Kind.other
        while let token = lexer.next() {
            defer { before = token.kind }
            let first = line[token.range.lowerBound]
            if lists > 0 {
                // A list counts as one value.
                if token.kind == .open { lists += 1 }
                if token.kind == .close { lists -= 1 }
                continue
            }
            switch token.kind {
            case .open where first == UInt8(ascii: "{"):
                if let key { keys.append(key) }
                key = nil
                isObject.append(true)
            case .open:
                names.append(Path(keys: keys + [key ?? ""]).description)
                key = nil
                lists = 1
            case .close:
                if before == .open, !keys.isEmpty { names.append(Path(keys: keys).description) }
                isObject.removeLast()
                if !keys.isEmpty { keys.removeLast() }
            case .string where key == nil: key = Self.text(line[token.range])
            case .string, .number, .word:
                names.append(Path(keys: keys + [key ?? ""]).description)
                key = nil
            case .comma, .colon, .other: break
            }
            if names.count >= Self.mostNames { return names.prefix(Self.mostNames) + ["…"] }
        }
        return names
    }

    private static func text(_ string: ArraySlice<UInt8>) -> String {
        let body = string.dropFirst().dropLast()
        return decoded(body) ?? String(decoding: body, as: UTF8.self)
    }

    /// The event as it came in. The values of members that some route hashes are masked.
    public var asItCame: String {
        let members = EventMembers(of: line, PathTrie(plan.routes.flatMap(\.hashedOrigins)))
        return mask.shown(line, without: members.ranges(of: plan.routes.flatMap(\.hashedOrigins)))
    }

    /// The event as a copy of the route that waits for the provider. The hashes are masked, and so are the values that the provider's own
    /// transform hashes at the hand-over. It is nil if the plan has no such route.
    public func asCopy(of name: String, to provider: String) -> String? {
        guard let route = plan.routes.first(where: { $0.name == name }) else { return nil }
        var shape = RoutePlan(name: "")
        shape.transforms = plan.providers.first { $0.name == provider }?.shape.transforms ?? []
        let members = EventMembers(of: line, PathTrie(route.hashed.map(\.path) + shape.hashedOrigins))
        let hashes = members.hashRanges(route.hashed)
        return mask.shown(line, without: hashes + members.ranges(of: shape.hashedOrigins))
    }

    /// The event as it is. Only texts from the environment or a file are masked: they are not the event's own.
    public var asItIs: String { mask.shown(line, hashed: []) }
}

extension Mask {
    /// Returns the line of an event, masked. A word replaces the values at these ranges.
    fileprivate func shown(_ line: [UInt8], without ranges: [Range<Int>]) -> String {
        var shown: [UInt8] = []
        var copied = 0
        for range in ranges.sorted(by: { ($0.lowerBound, $1.upperBound) < ($1.lowerBound, $0.upperBound) }) where range.lowerBound >= copied
        {
            shown += line[copied..<range.lowerBound] + Array("\"\(Mask.digest)\"".utf8)
            copied = range.upperBound
        }
        return self.shown(shown + line[copied...], hashed: [])
    }
}
