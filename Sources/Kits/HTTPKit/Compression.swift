// Compresses the bodies of requests with gzip or zstd. A compressor reuses its state from one body to the next.

internal import CZlib
internal import CZstd
public import PluginKit

/// How bodies are compressed (Content-Encoding).
public enum Compression: String, SettingValue, CaseIterable, Sendable {
    case none
    case gzip
    case zstd

    /// Returns a compressor, or nil for `none`.
    public func compressor() throws(SettingsFault) -> (any BodyCompressor)? {
        switch self {
        case .none: nil
        case .gzip: try GzipCompressor()
        case .zstd: try ZstdCompressor()
        }
    }
}

/// Compresses whole bodies, one at a time. It reuses its state.
public protocol BodyCompressor: AnyObject {
    /// Appends the compressed body. Returns false and appends nothing if there is no memory.
    func append(_ body: UnsafeRawBufferPointer, to packed: inout [UInt8]) -> Bool
}

extension [UInt8] {
    /// Appends what `fill` writes into at most `most` bytes. Returns false and changes nothing if `fill` fails.
    fileprivate mutating func grow(by most: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Int?) -> Bool {
        let start = count
        append(contentsOf: repeatElement(0, count: most))
        let written = withUnsafeMutableBytes { fill(UnsafeMutableRawBufferPointer(rebasing: $0[start...])) }
        precondition((0...most).contains(written ?? 0), "the compressor wrote more than there is space for")
        removeLast(most - (written ?? 0))
        return written != nil
    }
}

private final class GzipCompressor: BodyCompressor {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    init() throws(SettingsFault) {
        stream.initialize(to: z_stream())
        // Adding 16 to the window size selects the gzip format.
        let ready = deflateInit2_(
            stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard ready == Z_OK else { throw SettingsFault("compression: there is no memory for gzip") }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    func append(_ body: UnsafeRawBufferPointer, to packed: inout [UInt8]) -> Bool {
        deflateReset(stream)
        return packed.grow(by: Int(deflateBound(stream, uLong(body.count)))) { room in
            stream.pointee.next_in = UnsafeMutablePointer(mutating: body.bindMemory(to: Bytef.self).baseAddress)
            stream.pointee.avail_in = uInt(body.count)
            stream.pointee.next_out = room.bindMemory(to: Bytef.self).baseAddress
            stream.pointee.avail_out = uInt(room.count)
            return deflate(stream, Z_FINISH) == Z_STREAM_END ? room.count - Int(stream.pointee.avail_out) : nil
        }
    }
}

private final class ZstdCompressor: BodyCompressor {
    private let context: OpaquePointer

    init() throws(SettingsFault) {
        guard let context = ZSTD_createCCtx() else { throw SettingsFault("compression: there is no memory for zstd") }
        self.context = context
    }

    deinit { ZSTD_freeCCtx(context) }

    func append(_ body: UnsafeRawBufferPointer, to packed: inout [UInt8]) -> Bool {
        packed.grow(by: ZSTD_compressBound(body.count)) { room in
            let size = ZSTD_compress2(context, room.baseAddress, room.count, body.baseAddress, body.count)
            return ZSTD_isError(size) == 0 ? size : nil
        }
    }
}
