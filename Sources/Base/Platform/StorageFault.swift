// The reason why stored data could not be read or written, as a value.

/// The reason why an operation on stored data failed. Nothing of the operation was done.
public struct StorageFault: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Kind: Sendable {
        /// The disk is full, or the limit of the configuration is reached.
        case full
        /// The disk or the file system failed.
        case failed
        /// The contents of the file are not valid.
        case damaged
        /// The file was written by a newer version, or under another key; it was left untouched.
        case foreign
        /// Another process uses it.
        case taken
        /// Its path no longer leads to it, so that everything written to it would be lost.
        case removed
    }
    public var kind: Kind
    /// The message. It names the file and the remedy.
    public var description: String

    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
