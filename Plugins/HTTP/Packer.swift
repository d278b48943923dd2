// Makes the bodies of a batch in the form and with the compression of the settings. An array contains the unchanged bytes of the lines,
// separated by commas.

internal import CZlib
internal import CZstd
internal import PluginKit

final class Packer {
    private let form: HTTPRules.Body
    private let compressor: (any Compressor)?

    init(_ form: HTTPRules.Body, _ compression: HTTPRules.Compression) throws(SettingsFault) {
        self.form = form
        switch compression {
        case .none: compressor = nil
        case .gzip: compressor = try GzipCompressor()
        case .zstd: compressor = try ZstdCompressor()
        }
    }

    /// Returns the bodies, or nil if there is no memory for the compression.
    func pack(_ lines: Lines) -> RequestBodies? {
        let plain: RequestBodies
        switch form {
        case .ndjson: plain = RequestBodies(whole: lines)
        case .event: plain = RequestBodies(single: lines)
        case .array:
            let array = Packer.array(lines)
            plain = RequestBodies(array, ends: [array.count])
        }
        guard let compressor else { return plain }
        var packed: [UInt8] = []
        var ends: [Int] = []
        for index in 0..<plain.count {
            guard compressor.append(plain.body(index), to: &packed) else { return nil }
            ends.append(packed.count)
        }
        return RequestBodies(packed, ends: ends)
    }

    /// Every newline ends a line, since a line cannot contain one. The last newline becomes the bracket, and the others become commas.
    private static func array(_ lines: Lines) -> [UInt8] {
        precondition(lines.isEmpty || lines.end(of: lines.count - 1) == lines.bytes.count, "a comma would be written outside the body")
        return [UInt8](unsafeUninitializedCapacity: lines.bytes.count + 1) { array, count in
            array[0] = UInt8(ascii: "[")
            UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(array)[1...]).copyMemory(from: lines.bytes)
            for line in 0..<lines.count { array[lines.end(of: line)] = UInt8(ascii: ",") }
            count = lines.bytes.count + 1
            array[count - 1] = UInt8(ascii: "]")
        }
    }
}

/// Compresses whole bodies, one at a time. It reuses its state.
private protocol Compressor: AnyObject {
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

private final class GzipCompressor: Compressor {
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
        return packed.grow(by: Int(deflateBound(stream, uLong(body.count)))) { buffer in
            stream.pointee.next_in = UnsafeMutablePointer(mutating: body.bindMemory(to: Bytef.self).baseAddress)
            stream.pointee.avail_in = uInt(body.count)
            stream.pointee.next_out = buffer.bindMemory(to: Bytef.self).baseAddress
            stream.pointee.avail_out = uInt(buffer.count)
            return deflate(stream, Z_FINISH) == Z_STREAM_END ? buffer.count - Int(stream.pointee.avail_out) : nil
        }
    }
}

private final class ZstdCompressor: Compressor {
    private let context: OpaquePointer

    init() throws(SettingsFault) {
        guard let context = ZSTD_createCCtx() else { throw SettingsFault("compression: there is no memory for zstd") }
        self.context = context
    }

    deinit { ZSTD_freeCCtx(context) }

    func append(_ body: UnsafeRawBufferPointer, to packed: inout [UInt8]) -> Bool {
        packed.grow(by: ZSTD_compressBound(body.count)) { buffer in
            let size = ZSTD_compress2(context, buffer.baseAddress, buffer.count, body.baseAddress, body.count)
            return ZSTD_isError(size) == 0 ? size : nil
        }
    }
}
