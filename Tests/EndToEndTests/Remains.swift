// Searches the files of a folder for a text in each form that the router writes: plain, with some or all characters as JSON escapes, or
// inside data that begins like gzip, zlib or zstd.

import CZlib
import CZstd
import Foundation

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
        let text = Data(text.utf8)
        return Data(bytes).range(of: text) != nil || Data(unescaped(bytes)).range(of: text) != nil
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

    /// The number of bytes that are read from, and written by, each compressed stream at most.
    private static let most = 1 << 20

    private static func inflated(_ bytes: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        for at in bytes.indices.dropLast(4) {
            switch (bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]) {
            case (0x1f, 0x8b, 0x08, _): found.append(unzipped(bytes[at...]))
            case (0x78, let flags, _, _) where (0x7800 + Int(flags)) % 31 == 0: found.append(unzipped(bytes[at...]))
            case (0x28, 0xb5, 0x2f, 0xfd): found.append(unpacked(bytes[at...]))
            default: break
            }
        }
        return found
    }

    /// Decompresses gzip or zlib up to the first error.
    private static func unzipped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var stream = z_stream()
        guard inflateInit2_(&stream, 47, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return [] }
        defer { inflateEnd(&stream) }
        var input = Array(bytes.prefix(most))
        var output = [UInt8](repeating: 0, count: most)
        let left = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                _ = inflate(&stream, Z_SYNC_FLUSH)
                return Int(stream.avail_out)
            }
        }
        return Array(output.prefix(most - left))
    }

    private static func unpacked(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard let stream = ZSTD_createDStream() else { return [] }
        defer { ZSTD_freeDStream(stream) }
        let input = Array(bytes.prefix(most))
        var output = [UInt8](repeating: 0, count: most)
        return input.withUnsafeBytes { input in
            output.withUnsafeMutableBytes { output in
                var from = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
                var to = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
                while from.pos < from.size, to.pos < to.size {
                    let before = (from.pos, to.pos)
                    guard ZSTD_isError(ZSTD_decompressStream(stream, &to, &from)) == 0, before != (from.pos, to.pos) else { break }
                }
                return Array(output[..<to.pos])
            }
        }
    }

    static func zipped(_ text: String) -> Data {
        var bytes = Array(text.utf8)
        var stream = z_stream()
        deflateInit2_(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        defer { deflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: bytes.count + 100)
        let left = bytes.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                _ = deflate(&stream, Z_FINISH)
                return Int(stream.avail_out)
            }
        }
        return Data(output.dropLast(left))
    }

    static func packed(_ text: String) -> Data {
        let bytes = Array(text.utf8)
        var output = [UInt8](repeating: 0, count: ZSTD_compressBound(bytes.count))
        let count = ZSTD_compress(&output, output.count, bytes, bytes.count, 3)
        return Data(output.prefix(count))
    }
}
