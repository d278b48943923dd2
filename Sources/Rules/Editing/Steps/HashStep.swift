// `hash`: writes HMAC-SHA-256 under a key of the plan. Without options the operation is folded with its neighbours, and routes share the
// digests. With the name of its key before the digits, the key can be replaced later. With fewer digits, an id stays short.

internal import Document
public import Events
internal import FormReading
internal import Redaction

public struct HashStep: Step {
    public var paths: [Path] = []
    /// The index of the key among the keys of the plan.
    public var key = 0
    public var keyName = ""
    /// True if the name of the key precedes the digits.
    public var isNamed = false
    /// The number of hex digits that are written. It is nil if all are written.
    public var digits: Int?

    public init(_ paths: [Path], key: Int, named keyName: String? = nil, digits: Int? = nil) {
        self.paths = paths
        self.key = key
        self.keyName = keyName ?? ""
        isNamed = keyName != nil
        self.digits = digits
    }

    static let declaration = StepDeclaration(
        "hash", "Writes HMAC-SHA-256 under a key of `keys`, as hexadecimal digits.",
        example: .init(
            #"{"fields": ["userId"], "key": "ids", "name": true, "length": 16}"#, event: #"{"userId":"u1"}"#,
            result: #"{"userId":"ids:d3494d8b599c93af"}"#),
        samples: [
            #"{"fields":["$path"],"key":"ids"}"#, #"{"fields":["$path","$path"],"key":"ids","length":8}"#,
            #"{"fields":["$path"],"key":"ids","name":true,"length":16}"#, #"{"fields":["$path"],"key":"ids","name":true}"#,
        ],
        form: Form<HashStep>.object(
            HashStep([], key: 0),
            [
                Member("fields", Forms.paths, required: true, "The members to hash.", example: #"["userId"]"#, into: \.paths),
                Member("key", Forms.key("hashing key"), required: true, "The name of a key of 'keys'.", into: \.key),
                Member(
                    "name", Forms.boolean, "Whether the key's name is written before the digits, so that the key can be replaced.",
                    into: \.isNamed),
                Member("length", Forms.integer(8...64), "How many hex digits are kept; 64 when left out.", example: #"16"#, into: \.digits),
            ]
        ).then { step, _, reading in
            var step = step
            step.keyName = reading.keys.first { $0.value == step.key }?.key ?? ""
            return step
        })

    public var hashing: StepHashing? {
        StepHashing(paths: paths, key: key, name: isNamed ? keyName : nil, digits: digits ?? 64)
    }

    private var isPlain: Bool { !isNamed && digits == nil }

    public func summary(_ shown: (String) -> String) -> String {
        let length = isPlain ? "" : " to \(digits ?? 64) digits"
        return "hash \(list(paths, shown)) with key \(shown(keyName))\(length)" + (isNamed ? ", prefixed with \(shown(keyName)):" : "")
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        [
            MemberEffect(
                .changed, paths, "hashed with the key \(shown(keyName))" + (digits.map { ", cut to \($0) digits" } ?? ""), hides: true)
        ]
    }

    public func code(_ resources: StepResources) -> StepCode {
        let keys = resources.keys
        if isPlain { return .folded { [paths, key] fate in for path in paths { fate.hash(path.bytes[...], key: key, keys: keys) } } }
        let (secret, name, keeps) = (keys[key], isNamed ? keyName : nil, resources.keepsDigests)
        return .stages(ChangeStage.rules(paths) { [digits] in HashChange(secret, name: name, digits: digits ?? 64, keepsDigests: keeps) })
    }
}

final class HashChange: Changing {
    private let key: HMACKey
    private let prefix: [UInt8]
    private let digits: Int
    private let keepsDigests: Bool
    private let buffer: UnsafeMutablePointer<UInt8>
    private var decoder = Decoder()

    init(_ key: HMACKey, name: String?, digits: Int, keepsDigests: Bool) {
        self.key = key
        prefix = name.map { Array(JSONText.body($0 + ":")) } ?? []
        self.digits = digits
        self.keepsDigests = keepsDigests
        buffer = .allocate(capacity: 64 + Words.slack)
    }

    deinit { buffer.deallocate() }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        if keepsDigests, isOwn(value) { return .unchanged }
        key.write(decoder.message(of: value), to: buffer)
        out.put(UInt8(ascii: "\""))
        prefix.withUnsafeBufferPointer { if let base = $0.baseAddress { out.put(base, $0.count) } }
        out.put(Bytes(buffer), digits)
        out.put(UInt8(ascii: "\""))
        return .put
    }

    /// Returns true if the value has the form that this change writes.
    private func isOwn(_ value: ByteRun) -> Bool {
        guard value.count == prefix.count + digits + 2, value.base[0] == UInt8(ascii: "\"") else { return false }
        for (index, byte) in prefix.enumerated() where value.base[1 + index] != byte { return false }
        return (0..<digits).allSatisfy { index in
            let byte = value.base[1 + prefix.count + index]
            return byte &- 0x30 < 10 || byte &- UInt8(ascii: "a") < 6
        }
    }
}
