// The bodies of the requests that one batch becomes. The bytes are the batch's own where they can leave as they are.

internal import PluginKit

final class RequestBodies: @unchecked Sendable {
    private let bytes: UnsafeRawBufferPointer
    private let owned: UnsafeMutableRawBufferPointer?
    /// Where each body ends; `trim` bytes before it belong to none.
    private let ends: [Int]
    private let trim: Int

    /// How many requests these are.
    var count: Int { ends.count }

    func body(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index] - trim])
    }

    /// The lines as one body, in the memory of the batch, which must outlive the cargo.
    init(whole lines: Lines) {
        bytes = lines.bytes
        owned = nil
        ends = [lines.bytes.count]
        trim = 0
    }

    /// Each line as a body, without its newline, in the memory of the batch, which must outlive the cargo.
    init(single lines: Lines) {
        bytes = lines.bytes
        owned = nil
        ends = (0..<lines.count).map(lines.end(of:))
        trim = 1
    }

    /// Bodies of their own, one after the other.
    init(_ bodies: [UInt8], ends: [Int]) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bodies.count, alignment: 1)
        memory.copyBytes(from: bodies)
        owned = memory
        bytes = UnsafeRawBufferPointer(memory)
        self.ends = ends
        trim = 0
    }

    deinit { owned?.deallocate() }
}
