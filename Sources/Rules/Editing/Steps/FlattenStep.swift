// `flatten`: converts the members of an object to scalars, for providers that accept only flat scalars. A string with a time or a date
// becomes the seconds since 1970. A list becomes its values, joined by commas. An object becomes `key:value`, joined by commas; for deeper
// members, the key is the path with dots. Any other scalar stays byte for byte. Lists and objects deeper than 64 levels are left out. A
// field that is not an object is converted like such a member.

public import Events
internal import FormReading
internal import Redaction

public struct FlattenStep: Step {
    public var paths: [Path]

    public init(_ paths: [Path]) { self.paths = paths }

    static let declaration = StepDeclaration(
        "flatten", "Converts the members of an object to scalars, for providers that accept only flat scalars.",
        example: .init(
            #"["properties"]"#, event: #"{"properties":{"ids":[1,2],"size":{"w":3,"h":4},"at":"1970-01-02","n":1.0}}"#,
            result: #"{"properties":{"ids":"1,2","size":"w:3,h:4","at":86400,"n":1.0}}"#),
        samples: [#"["$path","$path"]"#],
        form: Forms.paths.then { paths, _, _ in FlattenStep(paths) })

    public func summary(_ shown: (String) -> String) -> String { "flatten \(list(paths, shown))" }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        [MemberEffect(.changed, paths, "flattened: the values of lists and objects are joined")]
    }

    public func code(_ resources: StepResources) -> StepCode { .stages(ChangeStage.rules(paths) { FlattenChange() }) }
}

final class FlattenChange: Changing {
    /// The number of nested levels that are written. Deeper lists and objects are left out.
    private static let deepest = 64

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard value.isObject else {
            var cursor = value.base
            flatten(&cursor, &out)
            return .put
        }
        var p = value.base + 1
        out.put(UInt8(ascii: "{"))
        var isFirst = true
        while true {
            p = skipSpace(p)
            if p[0] == UInt8(ascii: "}") { break }
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
            if !isFirst { out.put(UInt8(ascii: ",")) }
            isFirst = false
            let key = p
            p = skipSpace(skipSpace(stringEnd(p)) + 1)
            out.put(key, p - key)
            flatten(&p, &out)
        }
        out.put(UInt8(ascii: "}"))
        return .put
    }

    /// Writes the value at `p` as a scalar and moves `p` past it.
    private func flatten(_ p: inout Bytes, _ out: inout Replacements) {
        switch p[0] {
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            out.put(UInt8(ascii: "\""))
            var isFirst = true
            join(&p, path: [], isFirst: &isFirst, into: &out)
            out.put(UInt8(ascii: "\""))
        case UInt8(ascii: "\""):
            let end = stringEnd(p)
            if let seconds = RFC3339.seconds(ByteRun(base: p + 1, count: end - p - 2)) {
                var text = "\(seconds)"
                text.withUTF8 { out.put($0.baseAddress!, $0.count) }
            } else {
                out.put(p, end - p)
            }
            p = end
        default:
            let end = scalarEnd(p)
            out.put(p, end - p)
            p = end
        }
    }

    /// Appends the scalars of a list or an object, each after the path of its keys. The bodies of strings are written as they are.
    private func join(_ p: inout Bytes, path: [(Bytes, Int)], isFirst: inout Bool, into out: inout Replacements, level: Int = 0) {
        let isObject = p[0] == UInt8(ascii: "{")
        guard isObject || p[0] == UInt8(ascii: "[") else {
            if !isFirst { out.put(UInt8(ascii: ",")) }
            isFirst = false
            for (index, key) in path.enumerated() {
                if index > 0 { out.put(UInt8(ascii: ".")) }
                out.put(key.0, key.1)
            }
            if !path.isEmpty { out.put(UInt8(ascii: ":")) }
            let isString = p[0] == UInt8(ascii: "\"")
            let end = isString ? stringEnd(p) : scalarEnd(p)
            if isString { out.put(p + 1, end - p - 2) } else { out.put(p, end - p) }
            p = end
            return
        }
        guard level < FlattenChange.deepest else { return skip(&p) }
        p += 1
        while true {
            p = skipSpace(p)
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
            if p[0] == UInt8(ascii: "}") || p[0] == UInt8(ascii: "]") { break }
            var own = path
            if isObject {
                let end = stringEnd(p)
                own.append((p + 1, end - p - 2))
                p = skipSpace(skipSpace(end) + 1)
            }
            join(&p, path: own, isFirst: &isFirst, into: &out, level: level + 1)
        }
        p += 1
    }

    /// Moves `p` past the list or the object at `p`.
    private func skip(_ p: inout Bytes) {
        var depth = 0
        repeat {
            switch p[0] {
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: "\""):
                p = stringEnd(p)
                continue
            default: break
            }
            p += 1
        } while depth > 0
    }

    private func scalarEnd(_ p: Bytes) -> Bytes {
        var p = p
        while p[0] > 0x20, p[0] != UInt8(ascii: ","), p[0] != UInt8(ascii: "}"), p[0] != UInt8(ascii: "]") { p += 1 }
        return p
    }
}
