// Compresses and decompresses what a test sends, receives or finds in a file.

internal import CZlib
internal import CZstd

public enum Compression {
    /// The number of bytes that are read from, and written by, a compressed stream at most.
    public static let most = 1 << 20

    /// Returns the bytes in gzip (31 bits of window), zlib (15) or plain deflate (-15).
    public static func deflated(_ bytes: [UInt8], windowBits: Int32 = 31) -> [UInt8] {
        var stream = z_stream()
        deflateInit2_(&stream, 9, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        defer { deflateEnd(&stream) }
        return run(&stream, bytes, most: bytes.count + 1000) { deflate($0, Z_FINISH) }.bytes
    }

    /// Decompresses gzip or zlib up to the first error. `isWhole` is true if the bytes are one stream and nothing else.
    public static func inflated(_ bytes: [UInt8]) -> (bytes: [UInt8], isWhole: Bool) {
        var stream = z_stream()
        guard inflateInit2_(&stream, 47, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return ([], false) }
        defer { inflateEnd(&stream) }
        let (output, status) = run(&stream, bytes, most: most) { inflate($0, Z_SYNC_FLUSH) }
        return (output, status == Z_STREAM_END && stream.avail_in == 0)
    }

    private static func run(
        _ stream: inout z_stream, _ bytes: [UInt8], most: Int, _ step: (UnsafeMutablePointer<z_stream>) -> Int32
    ) -> (bytes: [UInt8], status: Int32) {
        var input = bytes
        var output = [UInt8](repeating: 0, count: most)
        let (left, status) = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                let status = step(&stream)
                return (Int(stream.avail_out), status)
            }
        }
        return (Array(output.dropLast(left)), status)
    }

    public static func zstd(_ bytes: [UInt8]) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: ZSTD_compressBound(bytes.count))
        let count = ZSTD_compress(&output, output.count, bytes, bytes.count, 3)
        return Array(output.prefix(count))
    }

    /// Decompresses zstd. Returns nil if the bytes are not one or more whole frames.
    public static func unzstd(_ bytes: [UInt8]) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: most)
        let count = ZSTD_decompress(&output, output.count, bytes, bytes.count)
        return ZSTD_isError(count) == 0 ? Array(output.prefix(count)) : nil
    }

    /// Decompresses zstd up to the first error, of which a frame may be cut off.
    public static func beginning(ofZstd bytes: [UInt8]) -> [UInt8] {
        guard let stream = ZSTD_createDStream() else { return [] }
        defer { ZSTD_freeDStream(stream) }
        var output = [UInt8](repeating: 0, count: most)
        return bytes.withUnsafeBytes { input in
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
}
