// The descriptions of modules that this process knows, by the identity of their files, and the file of the state folder that hands them to
// the next start. So a start does not begin a process for each module whose file is the same as at the last start.
//
// The next start takes the file away before it loads any module, and writes it again when everything runs. If a module that was described
// well ends the router at its start, the start after that has no file, and describes the module in a separate process, which gives a
// message. What the file says is used only at the start: a reload asks a module that the router does not know yet.

internal import CChecksum
internal import Glibc
internal import Plans
internal import Platform

public final class KnownDescriptions: Sendable {
    /// The descriptions that all providers of this process share.
    public static let shared = KnownDescriptions()
    /// The name of the file in the state folder.
    public static let fileName = "module-descriptions"

    private struct Known: Sendable {
        let texts: ModuleTexts
        let description: ModuleDescription
    }
    private struct State: Sendable {
        var known: [FileIdentity: Known] = [:]
        /// What modules told an earlier run. It is empty after the start.
        var earlier: [FileIdentity: ModuleTexts] = [:]
    }
    private let state = Monitor(State())

    init() {}

    func description(of identity: FileIdentity) -> ModuleDescription? { state.withLock { $0.known[identity]?.description } }

    /// The texts that the module with this file gave to an earlier run, as long as this run starts.
    func earlierTexts(of identity: FileIdentity) -> ModuleTexts? { state.withLock { $0.earlier[identity] } }

    func note(_ texts: ModuleTexts, _ description: ModuleDescription, of identity: FileIdentity) {
        state.withLock { $0.known[identity] = Known(texts: texts, description: description) }
    }

    // MARK: - The file

    /// Takes over what an earlier run has kept in this file, and removes the file. A file that is damaged, or that another user could have
    /// written, counts as none.
    public func recall(from path: String) {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard number >= 0 else { return }
        let file = Descriptor(owning: number)
        unlink(path)
        var status = stat()
        guard fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0, (1...DescriptionsFormat.mostBytes).contains(Int(status.st_size))
        else { return }
        let size = Int(status.st_size)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = max(0, pread(file.number, buffer.baseAddress, size, 0))
        }
        guard let texts = DescriptionsFormat.read(bytes) else { return }
        state.withLock { $0.earlier = texts }
    }

    /// Keeps the descriptions of this run for the next start, and uses no more what an earlier run has kept. The file only saves time, so it
    /// does not matter if it cannot be written.
    public func keep(at path: String) {
        let texts = state.withLock { state in
            state.earlier = [:]
            return state.known.mapValues(\.texts)
        }
        let bytes = DescriptionsFormat.write(texts)
        guard !texts.isEmpty, bytes.count <= DescriptionsFormat.mostBytes else { return }
        let draft = path + ".new"
        unlink(draft)
        let number = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { return }
        let file = Descriptor(owning: number)
        let isWritten = bytes.withUnsafeBytes { (try? writeAll(file.number, $0)) != nil }
        if !isWritten || rename(draft, path) != 0 { unlink(draft) }
    }
}

/// The bytes of the file: a mark, for each module the identity of its file and the texts of its provider and its source, and a checksum of all
/// that. The file is not trusted.
enum DescriptionsFormat {
    static let mostBytes = 1 << 24
    private static let mark = Array("SYMODS01".utf8)
    /// In the place of a size: there is no such text.
    private static let none = UInt64.max

    static func write(_ all: [FileIdentity: ModuleTexts]) -> [UInt8] {
        var bytes = mark
        for (identity, texts) in all {
            for number in identity.numbers { append(UInt64(bitPattern: number), to: &bytes) }
            for text in [texts.provider, texts.source] {
                append(text.map { UInt64($0.utf8.count) } ?? none, to: &bytes)
                bytes += Array((text ?? "").utf8)
            }
        }
        append(checksum(bytes[...]), to: &bytes)
        return bytes
    }

    /// Returns nil if the bytes are not a whole file.
    static func read(_ bytes: [UInt8]) -> [FileIdentity: ModuleTexts]? {
        guard bytes.count >= mark.count + 8, bytes.starts(with: mark) else { return nil }
        var rest = bytes.dropLast(8)
        guard checksum(rest) == number(bytes.suffix(8)) else { return nil }
        rest = rest.dropFirst(mark.count)
        var all: [FileIdentity: ModuleTexts] = [:]
        let head = 8 * FileIdentity.numberCount
        while !rest.isEmpty {
            guard rest.count >= head else { return nil }
            let numbers = (0..<FileIdentity.numberCount).map { Int64(bitPattern: number(rest.dropFirst(8 * $0).prefix(8))) }
            rest = rest.dropFirst(head)
            guard case (let provider, true) = readText(&rest), case (let source, true) = readText(&rest) else { return nil }
            all[FileIdentity(numbers: numbers)] = ModuleTexts(provider: provider, source: source)
        }
        return all
    }

    /// Reads a text, which may be absent. `isWhole` is false if the bytes end before it does.
    private static func readText(_ rest: inout ArraySlice<UInt8>) -> (text: String?, isWhole: Bool) {
        guard rest.count >= 8 else { return (nil, false) }
        let size = number(rest.prefix(8))
        rest = rest.dropFirst(8)
        if size == none { return (nil, true) }
        guard size <= UInt64(rest.count) else { return (nil, false) }
        defer { rest = rest.dropFirst(Int(size)) }
        return (String(decoding: rest.prefix(Int(size)), as: UTF8.self), true)
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.withUnsafeBytes { cchecksum_hash($0.baseAddress, $0.count, 0) }
    }
}
