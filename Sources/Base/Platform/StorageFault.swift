// Why something that is kept on disk could not be read or written, as a value.

/// Nothing of what was asked for was done.
public struct StorageFault: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Kind: Sendable {
        /// No room on the disk, or none left of what the configuration allows.
        case full
        /// The disk or the file system failed.
        case failed
        /// What the file holds makes no sense.
        case damaged
        /// The file was written by a newer version, or under another key; it was left untouched.
        case foreign
        /// Another process has it.
        case taken
        /// Its name leads to it no more, so that whatever is written would be lost.
        case removed
    }
    public var kind: Kind
    /// Names the file and the way out.
    public var description: String

    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
