// Recognises the first bytes of an input: a byte order mark, which is not part of the text, and compressed data, which has no lines.

public enum FileBeginning {
    /// The number of bytes that `compression` examines.
    public static let most = 4

    public struct Compression: Equatable, Sendable {
        public var name: String
        /// The command that writes the text of such a file to standard output.
        public var command: String
    }

    /// Returns the number of bytes of a byte order mark at the beginning: 3 or 0.
    public static func mark(_ bytes: some Sequence<UInt8>) -> Int { bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0 }

    /// Returns the compression of the bytes, or nil if it is unknown or there is none.
    public static func compression(_ bytes: some Sequence<UInt8>) -> Compression? {
        if bytes.starts(with: [0x1f, 0x8b]) { return Compression(name: "gzip", command: "zcat") }
        if bytes.starts(with: [0x28, 0xb5, 0x2f, 0xfd]) { return Compression(name: "zstd", command: "zstdcat") }
        return nil
    }
}
