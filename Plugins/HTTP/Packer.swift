// Makes the bodies of a batch in the form and with the compression of the settings. An array contains the unchanged bytes of the lines,
// separated by commas.

internal import ExpressionKit
internal import HTTPKit
internal import PluginKit

final class Packer {
    private let form: BodyRules.Form
    private let compressor: (any BodyCompressor)?

    init(_ form: BodyRules.Form, _ compression: Compression) throws(SettingsFault) {
        self.form = form
        compressor = try compression.compressor()
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
