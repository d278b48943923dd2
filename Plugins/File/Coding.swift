// The encoders and decoders of the two forms of compressed files, behind one interface.

internal import CZlib
internal import CZstd

extension FileRules.Compression {
    /// A new encoder, or nil if the form is plain.
    var encoder: (any Encoder)? {
        switch self {
        case .none: nil
        case .gzip: GzipEncoder()
        case .zstd: ZstdEncoder()
        }
    }

    /// A new decoder, or nil if the form is plain.
    var decoder: (any Decoder)? {
        switch self {
        case .none: nil
        case .gzip: GzipDecoder()
        case .zstd: ZstdDecoder()
        }
    }
}

/// Encodes input until `done` is true: then all input is encoded and, if `last` is true, the end of the stream is written too. Returns nil
/// if it fails.
protocol Encoder: AnyObject {
    func encode(_ from: UnsafeRawBufferPointer, into: UnsafeMutableRawBufferPointer, last: Bool) -> (taken: Int, written: Int, done: Bool)?
}

final class GzipEncoder: Encoder {
    private var stream = z_stream()
    private let ready: Bool

    init() {
        // Adding 16 to the window size selects the gzip format.
        ready =
            deflateInit2_(
                &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)) == Z_OK
    }

    deinit { if ready { deflateEnd(&stream) } }

    func encode(_ from: UnsafeRawBufferPointer, into: UnsafeMutableRawBufferPointer, last: Bool) -> (taken: Int, written: Int, done: Bool)?
    {
        guard ready else { return nil }
        stream.next_in = UnsafeMutablePointer(mutating: from.bindMemory(to: Bytef.self).baseAddress)
        stream.avail_in = uInt(from.count)
        stream.next_out = into.bindMemory(to: Bytef.self).baseAddress
        stream.avail_out = uInt(into.count)
        let result = deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH)
        guard result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR else { return nil }
        let done = last ? result == Z_STREAM_END : stream.avail_in == 0 && stream.avail_out > 0
        return (from.count - Int(stream.avail_in), into.count - Int(stream.avail_out), done)
    }
}

final class ZstdEncoder: Encoder {
    private let context = ZSTD_createCCtx()

    deinit { ZSTD_freeCCtx(context) }

    func encode(_ from: UnsafeRawBufferPointer, into: UnsafeMutableRawBufferPointer, last: Bool) -> (taken: Int, written: Int, done: Bool)?
    {
        guard let context else { return nil }
        var input = ZSTD_inBuffer(src: from.baseAddress, size: from.count, pos: 0)
        var output = ZSTD_outBuffer(dst: into.baseAddress, size: into.count, pos: 0)
        let left = ZSTD_compressStream2(context, &output, &input, last ? ZSTD_e_end : ZSTD_e_continue)
        guard ZSTD_isError(left) == 0 else { return nil }
        return (input.pos, output.pos, last ? left == 0 : input.pos == input.size)
    }
}

/// Decodes input, which may consist of several compressed parts. Returns nil if the data is damaged.
protocol Decoder: AnyObject {
    func decode(_ from: UnsafeRawBufferPointer, into: UnsafeMutableRawBufferPointer) -> (taken: Int, written: Int)?
    /// True if the input so far ends with the end of a part.
    var isAtEnd: Bool { get }
}

final class GzipDecoder: Decoder {
    private var stream = z_stream()
    private let ready: Bool
    private(set) var isAtEnd = false

    init() {
        // Adding 16 to the window size selects the gzip format.
        ready = inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    }

    deinit { if ready { inflateEnd(&stream) } }

    func decode(_ from: UnsafeRawBufferPointer, into: UnsafeMutableRawBufferPointer) -> (taken: Int, written: Int)? {
        guard ready else { return nil }
        if isAtEnd {
            if from.isEmpty { return (0, 0) }
            guard inflateReset(&stream) == Z_OK else { return nil }
        }
        stream.next_in = UnsafeMutablePointer(mutating: from.bindMemory(to: Bytef.self).baseAddress)
        stream.avail_in = uInt(from.count)
        stream.next_out = into.bindMemory(to: Bytef.self).baseAddress
        stream.avail_out = uInt(into.count)
        let result = inflate(&stream, Z_NO_FLUSH)
        guard result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR else { return nil }
        isAtEnd = result == Z_STREAM_END
        return (from.count - Int(stream.avail_in), into.count - Int(stream.avail_out))
    }
}

final class ZstdDecoder: Decoder {
    private let context = ZSTD_createDCtx()
    private(set) var isAtEnd = false

    deinit { ZSTD_freeDCtx(context) }

    func decode(_ from: UnsafeRawBufferPointer, into: UnsafeMutableRawBufferPointer) -> (taken: Int, written: Int)? {
        guard let context else { return nil }
        if isAtEnd, from.isEmpty { return (0, 0) }
        var input = ZSTD_inBuffer(src: from.baseAddress, size: from.count, pos: 0)
        var output = ZSTD_outBuffer(dst: into.baseAddress, size: into.count, pos: 0)
        let left = ZSTD_decompressStream(context, &output, &input)
        guard ZSTD_isError(left) == 0 else { return nil }
        isAtEnd = left == 0
        return (input.pos, output.pos)
    }
}
