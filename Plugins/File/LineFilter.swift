// Splits the content of a file into lines and passes on those that stay. It takes as much memory as the longest line and a chunk. A last
// line without a newline that a killed writer left is not passed on if it may hold an id.

internal import Glibc
internal import PluginKit

final class LineFilter {
    private let reader: PackedReader
    private let writer: PackedWriter?
    private let path: String
    private let filter: SubjectFilter
    /// What was read after the last whole line.
    private var rest: [UInt8] = []
    private(set) var removed = 0
    private(set) var unreadable = 0
    private(set) var doubtful: Set<Int> = []

    /// Without an output it only counts.
    init(
        _ input: Int32, path: String, _ filter: SubjectFilter, into output: (descriptor: Int32, path: String, system: FileSystem)?
    ) throws(FileFault) {
        reader = try PackedReader(input, path: path)
        writer = output.map { [form = reader.form] in PackedWriter(form, $0.descriptor, path: $0.path, system: $0.system) }
        self.path = path
        self.filter = filter
    }

    var form: FileRules.Compression { reader.form }
    var offset: Int { reader.offset }

    /// False if what was taken last is not in the file any more.
    func isStillThere() throws(FileFault) -> Bool { try reader.isStillThere() }

    /// Takes the file up to this place. Returns false if the file ends before, or if the work was stopped.
    func take(to end: Int, _ isStopped: () -> Bool) throws(FileFault) -> Bool {
        try reader.read(to: end) { (bytes) throws(FileFault) in
            if isStopped() { return false }
            let searched = rest.count
            rest += bytes
            try takeLines(from: searched)
            guard rest.count <= Rewriting.longest else { throw FileFault("a line is too long in", path: path, code: EMSGSIZE) }
            return true
        }
    }

    /// Forces the output to the disk, and forgets an incomplete line, which is read again. Its writer could still be at work, or could cut
    /// it off.
    func settle() throws(FileFault) {
        try writer?.synchronize()
        reader.rewind(to: reader.offset - rest.count)
        rest = []
    }

    /// Takes the last line, which has no newline, and ends the output.
    func finish() throws(FileFault) {
        guard reader.isComplete else { throw FileFault(damaged: path) }
        if !rest.isEmpty {
            var check = TornCheck()
            check.feed(rest)
            let count = rest.count
            rest += [UInt8(ascii: "\n")] + [UInt8](repeating: 0, count: SubjectFilter.padding - 1)
            let stays = judge(0..<count, isTorn: check.isTorn)
            if stays {
                try rest[..<count].withUnsafeBufferPointer { (bytes) throws(FileFault) in try writer?.write(UnsafeRawBufferPointer(bytes)) }
            }
            rest = []
        }
        try writer?.finish()
    }

    /// Passes on the whole lines in `rest`. The newline of the first one is not before `searched`.
    private func takeLines(from searched: Int) throws(FileFault) {
        let count = rest.count
        guard let last = rest[searched...].lastIndex(of: UInt8(ascii: "\n")) else { return }
        rest += [UInt8](repeating: 0, count: SubjectFilter.padding)
        var start = 0
        // The beginning of the lines that stay and are not written yet.
        var kept = 0
        while start <= last {
            let from = max(start, searched)
            guard let newline = rest[from...last].firstIndex(of: UInt8(ascii: "\n")) else { break }
            if !judge(start..<newline, isTorn: false) {
                try write(kept..<start)
                kept = newline + 1
            }
            start = newline + 1
        }
        assert(start == last + 1, "a whole line was not judged")
        try write(kept..<start)
        rest.removeSubrange(count...)
        rest.removeFirst(start)
    }

    private func write(_ range: Range<Int>) throws(FileFault) {
        guard let writer, !range.isEmpty else { return }
        try rest[range].withUnsafeBufferPointer { (bytes) throws(FileFault) in try writer.write(UnsafeRawBufferPointer(bytes)) }
    }

    /// Returns true if the line stays.
    private func judge(_ range: Range<Int>, isTorn: Bool) -> Bool {
        let verdict = rest.withUnsafeBytes { filter.judge(UnsafeRawBufferPointer(rebasing: $0[range])) }
        switch verdict {
        case .stays: return true
        case .unreadable(let subjects) where !isTorn:
            unreadable += 1
            doubtful.formUnion(subjects)
            return true
        case .goes, .unreadable:
            removed += 1
            return false
        }
    }
}
