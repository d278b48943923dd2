// Damages the files of an audit trail of 1,000 entries. Whatever is changed, cut, swapped or mixed up in them, the verification reads nothing
// beyond its files, ends, and finds it. Two targets: random damage, and every single change of one byte and every cut.

import Audit
@preconcurrency import Glibc
import MerkleLog
import Seeded

/// A trail in a temporary folder, and the bytes of its files.
final class TrailUnderTest {
    let folder: String
    let keys = AuditKeys(Array("a secret for the fuzzer of trails".utf8), origin: "example.com/fuzz")
    let files: [(path: String, bytes: [UInt8])]

    init() throws {
        var template = Array(((getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp") + "/trail-XXXXXX").utf8CString)
        folder = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
        var options = Trail.Options()
        options.syncs = false
        let trail = try Trail(folder, keys: keys, options: options)
        for first in stride(from: 0, to: 1000, by: 100) {
            _ = try trail.append(
                (first..<first + 100).map { Array(#"{"kind":"access","number":\#($0)}"#.utf8) + [UInt8](repeating: 0x20, count: $0 % 20) })
        }
        let paths = TrailFiles(folder)
        let known =
            [paths.checkpoint, paths.tail(3)] + (0..<3).flatMap { [paths.bundle($0), paths.tile(0, $0)] }
        files = known.map { ($0, TrailUnderTest.read($0)) }
        precondition(files.allSatisfy { !$0.bytes.isEmpty }, "the trail has other files than the fuzzer knows")
    }

    deinit {
        for (path, _) in files { unlink(path) }
        unlink(folder + "/lock")
        for name in ["/tile/0", "/tile/entries", "/tile", ""] { rmdir(folder + name) }
    }

    /// Returns true if the verification finds something.
    func findsDamage() -> Bool {
        guard let findings = try? TrailVerification.run(folder, keys: keys.all) else { return true }
        return !findings.isWhole || !findings.notes.isEmpty
    }

    private static func read(_ path: String) -> [UInt8] {
        let number = open(path, O_RDONLY)
        guard number >= 0 else { return [] }
        defer { close(number) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = Glibc.read(number, &bytes, bytes.count)
        return Array(bytes[..<max(0, count)])
    }

    func write(_ path: String, _ bytes: [UInt8]) {
        let number = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(number) }
        _ = Glibc.write(number, bytes, bytes.count)
    }
}

struct TrailFuzzer: Fuzzer {
    private let trail: TrailUnderTest
    private var random: Seeded
    private let plants: Bool

    init(seed: UInt64, plants: Bool) throws {
        trail = try TrailUnderTest()
        random = Seeded(state: seed)
        self.plants = plants
    }

    mutating func next() -> (Comparison, input: [UInt8]) {
        // The planted bug: damage of this kind is not found.
        if random.below(8) == 0 { return (trail.findsDamage() ? .unexplained("a whole trail counts as damaged") : .valid, []) }
        var changed: [Int] = []
        for _ in 0...random.below(3) {
            let index = random.below(trail.files.count)
            guard !changed.contains(index) else { continue }
            let bytes = damaged(trail.files[index].bytes)
            guard bytes != trail.files[index].bytes else { continue }
            trail.write(trail.files[index].path, bytes)
            changed.append(index)
        }
        guard let first = changed.first else { return (.invalid, []) }
        let isFound = trail.findsDamage() && !(plants && changed.count == 1 && random.below(4) == 0)
        for index in changed { trail.write(trail.files[index].path, trail.files[index].bytes) }
        return (isFound ? .invalid : .unexplained("damage was not found"), Array(trail.files[first].path.utf8))
    }

    private mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let at = random.below(bytes.count)
        switch random.below(7) {
        case 0: bytes[at] ^= UInt8(1 << random.below(8))
        case 1: bytes[at] = UInt8(random.below(256))
        case 2: bytes.removeSubrange(at...)
        case 3: bytes.remove(at: at)
        case 4: bytes.insert(UInt8(random.below(256)), at: at)
        case 5: bytes = trail.files[random.below(trail.files.count)].bytes
        default:
            let other = random.below(bytes.count)
            let count = min(64, bytes.count - max(at, other))
            for offset in 0..<count { bytes.swapAt(at + offset, other + offset) }
        }
        return bytes
    }
}

/// Changes each byte of each file once, and cuts each file once at each length.
struct EveryByte: Fuzzer {
    private let trail: TrailUnderTest
    private var random: Seeded
    private let plants: Bool
    private var file = 0
    private var at = 0
    private var cuts = false
    private(set) var isDone = false

    init(seed: UInt64, plants: Bool) throws {
        trail = try TrailUnderTest()
        random = Seeded(state: seed)
        self.plants = plants
    }

    mutating func next() -> (Comparison, input: [UInt8]) {
        guard !isDone else { return (.valid, []) }
        let (path, whole) = trail.files[file]
        var bytes = whole
        if cuts { bytes.removeSubrange(at...) } else { bytes[at] ^= UInt8(1 << random.below(8)) }
        let hides = plants && file == 1 && at == 100
        if !hides { trail.write(path, bytes) }
        let isFound = trail.findsDamage()
        let place = Array("\(path) \(cuts ? "cut at" : "byte") \(at)".utf8)
        advance(whole.count)
        if at == 0 || isDone { trail.write(path, whole) }
        if !cuts { trail.write(path, whole) }
        return (isFound ? .valid : .unexplained("a change was not found"), place)
    }

    private mutating func advance(_ count: Int) {
        at += 1
        guard at == count else { return }
        at = 0
        if !cuts {
            cuts = true
            return
        }
        cuts = false
        file += 1
        isDone = file == trail.files.count
    }
}
