// Searches the files of a folder for a text in each form that the router writes: plain, with some or all characters as JSON escapes, or
// inside data that begins like gzip, zlib or zstd.

import Foundation
import Glibc
import TestSupport

struct Remains {
    let folder: String

    /// Returns the relative paths of the files that contain the text.
    func holding(_ text: String) -> [String] {
        files.filter { name in
            guard let data = FileManager.default.contents(atPath: folder + "/" + name) else { return false }
            let bytes = [UInt8](data)
            return ([bytes] + Remains.inflated(bytes)).contains { Remains.holds($0, text) }
        }
    }

    private var files: [String] {
        ((try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []).filter { name in
            (try? FileManager.default.attributesOfItem(atPath: folder + "/" + name))?[.type] as? FileAttributeType == .typeRegular
        }.sorted()
    }

    private static func holds(_ bytes: [UInt8], _ text: String) -> Bool {
        finds(text, in: bytes) || finds(#"\u00"#, in: bytes) && finds(text, in: unescaped(bytes))
    }

    private static func finds(_ text: String, in bytes: [UInt8]) -> Bool {
        Data(bytes).range(of: Data(text.utf8)) != nil
    }

    /// Replaces every `\u00xx` by its character. The texts that the tests search for need no other escapes.
    private static func unescaped(_ bytes: [UInt8]) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            if at + 6 <= bytes.count, bytes[at..<at + 4].elementsEqual(#"\u00"#.utf8),
                let code = UInt8(String(decoding: bytes[at + 4..<at + 6], as: UTF8.self), radix: 16)
            {
                plain.append(code)
                at += 6
            } else {
                plain.append(bytes[at])
                at += 1
            }
        }
        return plain
    }

    // MARK: - Compressed

    /// Returns the places of these bytes, which the library finds faster than a loop.
    private static func places(of wanted: [UInt8], in bytes: ArraySlice<UInt8>) -> [Int] {
        bytes.withUnsafeBytes { bytes in
            wanted.flatMap { byte in
                var places: [Int] = []
                var at = 0
                while at < bytes.count, let found = memchr(bytes.baseAddress! + at, Int32(byte), bytes.count - at) {
                    at = UnsafeRawPointer(found) - bytes.baseAddress! + 1
                    places.append(at - 1)
                }
                return places
            }
        }
    }

    private static func inflated(_ bytes: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        for at in places(of: [0x1f, 0x78, 0x28], in: bytes.dropLast(4)) {
            var part: [UInt8] { Array(bytes[at...].prefix(Compression.most)) }
            switch (bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]) {
            case (0x1f, 0x8b, 0x08, _): found.append(Compression.inflated(part).bytes)
            case (0x78, let flags, _, _) where (0x7800 + Int(flags)) % 31 == 0: found.append(Compression.inflated(part).bytes)
            case (0x28, 0xb5, 0x2f, 0xfd): found.append(Compression.beginning(ofZstd: part))
            default: break
            }
        }
        return found
    }
}
