// The requests for one batch: one for all of its events, or one for each. Their bodies use the memory of the batch if the bytes need no change.

internal import HTTPKit
internal import PluginKit

final class RequestBodies: Requests, @unchecked Sendable {
    private let bytes: UnsafeRawBufferPointer
    private let owned: UnsafeMutableRawBufferPointer?
    /// The end of each body. The `trim` bytes before it belong to no body.
    private let ends: [Int]
    private let trim: Int

    /// The number of requests.
    var count: Int { ends.count }

    func body(_ index: Int) -> UnsafeRawBufferPointer {
        assert(ends.indices.contains(index) && ends[index] <= bytes.count, "there is no such body, or it ends after the bytes")
        return UnsafeRawBufferPointer(rebasing: bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index] - trim])
    }

    /// Makes one body of all lines, in the memory of the batch. The batch must outlive this value.
    init(whole lines: Lines) {
        bytes = lines.bytes
        owned = nil
        ends = [lines.bytes.count]
        trim = 0
    }

    /// Makes one body of each line, without its newline, in the memory of the batch. The batch must outlive this value.
    init(single lines: Lines) {
        bytes = lines.bytes
        owned = nil
        ends = (0..<lines.count).map(lines.end(of:))
        trim = 1
    }

    /// Makes bodies of a copy of these bytes.
    init(_ bodies: [UInt8], ends: [Int]) {
        assert(ends.last ?? 0 == bodies.count && zip(ends, ends.dropFirst()).allSatisfy { $0 <= $1 }, "the bodies do not cover their bytes")
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bodies.count, alignment: 1)
        memory.copyBytes(from: bodies)
        owned = memory
        bytes = UnsafeRawBufferPointer(memory)
        self.ends = ends
        trim = 0
    }

    deinit { owned?.deallocate() }
}
