// Signed notes (C2SP signed-note): a text and the lines of its signatures. Signatures of unknown keys are kept and prove nothing.

/// The public key of a signer, as others are given it: `name+id+base64`.
public struct NoteKey: Sendable, Hashable, CustomStringConvertible {
    public enum Algorithm: UInt8, Sendable {
        /// A signature over the text.
        case ed25519 = 0x01
        /// A signature over the text and a time (C2SP tlog-cosignature), as a witness makes it.
        case cosignature = 0x04
    }

    public let name: String
    public let algorithm: Algorithm
    public let publicKey: [UInt8]
    /// The number by which signatures name the key. It is no proof.
    public let id: UInt32

    /// Returns nil if the name is not allowed, or the key is not 32 bytes long.
    public init?(name: String, _ algorithm: Algorithm, publicKey: [UInt8]) {
        guard NoteKey.isName(name), publicKey.count == 32 else { return nil }
        self.name = name
        self.algorithm = algorithm
        self.publicKey = publicKey
        id = Digest(of: Array(name.utf8) + [0x0a, algorithm.rawValue] + publicKey).withBytes {
            UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self))
        }
    }

    /// Reads the form that others are given. Returns nil if it has another form, or the id does not belong to the key.
    public init?(_ text: String) {
        let parts = text.split(separator: "+", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = StrictBase64.decode(Array(parts[2].utf8)), let first = bytes.first,
            let algorithm = Algorithm(rawValue: first)
        else { return nil }
        self.init(name: String(parts[0]), algorithm, publicKey: Array(bytes.dropFirst()))
        guard parts[1] == idDigits else { return nil }
    }

    public var description: String { "\(name)+\(idDigits)+\(StrictBase64.encode([algorithm.rawValue] + publicKey))" }

    private var idDigits: String {
        let digits = String(id, radix: 16)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }

    /// Returns true if the text may name a key: it is not empty and has neither spaces nor a plus sign nor control characters.
    public static func isName(_ text: String) -> Bool {
        !text.isEmpty && !text.contains { $0.isWhitespace || $0 == "+" }
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
    }
}

/// The line of a signature.
public struct NoteSignature: Sendable, Hashable {
    public var name: String
    public var id: UInt32
    /// The bytes of the signature after the id.
    public var bytes: [UInt8]

    public init(name: String, id: UInt32, bytes: [UInt8]) {
        self.name = name
        self.id = id
        self.bytes = bytes
    }

    /// Reads a line without its newline. Returns nil if it is not the line of a signature.
    public init?(line: some StringProtocol) {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "\u{2014}", NoteKey.isName(String(parts[1])),
            let bytes = StrictBase64.decode(Array(parts[2].utf8)), bytes.count > 4
        else { return nil }
        name = String(parts[1])
        id = bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        self.bytes = Array(bytes.dropFirst(4))
    }

    public var line: String {
        let number = [UInt8(id >> 24), UInt8(id >> 16 & 0xff), UInt8(id >> 8 & 0xff), UInt8(id & 0xff)]
        return "\u{2014} \(name) \(StrictBase64.encode(number + bytes))\n"
    }
}

public struct SignedNote: Sendable, Hashable {
    /// The most bytes of a note that is read.
    public static let largest = 100_000

    /// The signed text. It ends with a newline.
    public var text: String
    public var signatures: [NoteSignature]

    public init(text: String, signatures: [NoteSignature] = []) {
        self.text = text
        self.signatures = signatures
    }

    /// Returns nil if the bytes are not a signed note.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count <= SignedNote.largest, let note = String(validating: bytes, as: UTF8.self), note.utf8.last == 0x0a,
            bytes.allSatisfy({ $0 >= 0x20 || $0 == 0x0a })
        else { return nil }
        // The last empty line separates the text from the signatures.
        guard let end = SignedNote.endOfText(bytes) else { return nil }
        text = String(decoding: bytes[..<end], as: UTF8.self)
        signatures = []
        for line in bytes[(end + 1)...].dropLast().split(separator: 0x0a, omittingEmptySubsequences: false) {
            guard let signature = NoteSignature(line: String(decoding: line, as: UTF8.self)) else { return nil }
            signatures.append(signature)
        }
        guard !signatures.isEmpty else { return nil }
    }

    private static func endOfText(_ bytes: [UInt8]) -> Int? {
        var at = bytes.count - 2
        while at > 0 {
            if bytes[at] == 0x0a, bytes[at - 1] == 0x0a { return at }
            at -= 1
        }
        return nil
    }

    public var bytes: [UInt8] { Array((text + "\n" + signatures.map(\.line).joined()).utf8) }

    // MARK: - Signing and checking

    /// Adds a signature of this key.
    public mutating func sign(_ key: SigningKey, as name: NoteKey) {
        precondition(name.algorithm == .ed25519 && name.publicKey == key.publicKey, "a signature names another key")
        signatures.append(NoteSignature(name: name.name, id: name.id, bytes: key.sign(Array(text.utf8))))
    }

    public enum Standing: Sendable { case signed, forged, unsigned }

    /// Returns whether the note has a valid signature of the key. It is forged if one that names the key is not valid.
    public func standing(_ key: NoteKey) -> Standing {
        let named = signatures.filter { $0.name == key.name && $0.id == key.id }
        if named.isEmpty { return .unsigned }
        return named.allSatisfy { isValid($0, of: key) } ? .signed : .forged
    }

    func isValid(_ signature: NoteSignature, of key: NoteKey) -> Bool {
        switch key.algorithm {
        case .ed25519: return Ed25519.isSigned(Array(text.utf8), signature.bytes, by: key.publicKey)
        case .cosignature:
            guard signature.bytes.count == 72 else { return false }
            let time = signature.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard time <= UInt64(Int64.max) else { return false }
            let message = Array("cosignature/v1\ntime \(time)\n\(text)".utf8)
            return Ed25519.isSigned(message, signature.bytes.dropFirst(8), by: key.publicKey)
        }
    }
}
