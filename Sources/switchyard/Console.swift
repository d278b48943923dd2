// What is said to a person: on standard error, one line each. Standard output carries data only.

import Glibc
import Platform

enum Console {
    /// One line on standard error, whole, whoever else is writing.
    static let say: @Sendable (String) -> Void = { line in
        var text = "switchyard: " + line + "\n"
        text.withUTF8 { try? writeAll(2, UnsafeRawBufferPointer($0)) }
    }

    /// Lines on standard error as they are.
    static func note(_ text: String) {
        var text = text
        text.withUTF8 { try? writeAll(2, UnsafeRawBufferPointer($0)) }
    }

    /// What was asked for, on standard output.
    static func show(_ text: String) throws(SystemFault) {
        let bytes = Array(text.utf8)
        let result = bytes.withUnsafeBytes { bytes in Result { () throws(SystemFault) in try writeAll(1, bytes) } }
        try result.get()
    }
}
