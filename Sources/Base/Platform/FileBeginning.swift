// What the first bytes of an input tell: a byte order mark, which is no part of its text, and compressed data, which has no lines.

public enum FileBeginning {
    /// How many bytes `compression` looks at.
    public static let most = 4

    public struct Compression: Equatable, Sendable {
        public var name: String
        /// What writes the text of such a file to standard output.
        public var command: String
    }

    /// How many bytes of the beginning are a byte order mark: 3 or 0.
    public static func mark(_ bytes: some Sequence<UInt8>) -> Int { bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0 }

    /// What the bytes were compressed with; nil: nothing that is known.
    public static func compression(_ bytes: some Sequence<UInt8>) -> Compression? {
        if bytes.starts(with: [0x1f, 0x8b]) { return Compression(name: "gzip", command: "zcat") }
        if bytes.starts(with: [0x28, 0xb5, 0x2f, 0xfd]) { return Compression(name: "zstd", command: "zstdcat") }
        return nil
    }
}
