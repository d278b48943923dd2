// Regular expressions by libre2. The time of a search is at most proportional to the bytes of the text times the instructions of the
// pattern, so both are bounded: `PatternCost.swift` says what a search is charged. The library is loaded when the
// first pattern is compiled. A router without patterns neither loads nor needs it.

public import Events
internal import Glibc
internal import Platform

public struct PatternFault: Error {
    public var message: String
    /// True if the library cannot be used.
    public var isMissing = false
    /// True if the pattern is valid, but larger than allowed.
    public var isTooLarge = false
}

/// A pattern that matches anywhere in a text, as `matches` does. Any number of threads can use it at the same time.
public final class CompiledPattern: @unchecked Sendable {
    /// The most spans that `find` fills: one for the match and nine for groups.
    public static let mostSpans = 10

    /// The most instructions of a pattern.
    public static let mostInstructions = 5000

    /// The number of instructions of the compiled pattern.
    public let instructions: Int
    let reach: PatternReach
    private let handle: UnsafeMutableRawPointer
    private let library: PatternLibrary

    public init(_ pattern: [UInt8]) throws(PatternFault) {
        let library = try PatternLibrary.shared.get()
        self.library = library
        guard pattern.count <= 4096 else { throw PatternFault(message: "a regular expression has at most 4096 bytes") }
        var message = [CChar](repeating: 0, count: 256)
        let handle = pattern.withUnsafeBytes { library.compile($0.baseAddress, $0.count, &message, message.count) }
        guard let handle else {
            let words = String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw PatternFault(message: "RE2 cannot read this regular expression: \(words)")
        }
        let instructions = Int(library.size(handle))
        guard instructions <= CompiledPattern.mostInstructions else {
            library.free(handle)
            throw PatternFault(
                message: "this regular expression compiles to \(instructions) instructions, and \(CompiledPattern.mostInstructions) are "
                    + "allowed: repeat less, such as {1,50} in place of {1,500}, or use + without a bound", isTooLarge: true)
        }
        self.handle = handle
        self.instructions = max(1, instructions)
        reach = PatternReach(pattern)
    }

    deinit { library.free(handle) }

    func matches(_ text: [UInt8]) -> Bool {
        text.withUnsafeBytes { library.matches(handle, $0.baseAddress, $0.count) == 1 }
    }

    /// The number of groups that it captures.
    public var groups: Int { Int(library.groups(handle)) }

    /// Returns true if the pattern matches at or after `from`. Then `spans` holds `count` pairs of begin and end: first those of the
    /// leftmost match, then those of its groups. They are -1 for a group that is not part of the match.
    public func find(_ text: Bytes, length: Int, from: Int, spans: UnsafeMutablePointer<Int>, count: Int) -> Bool {
        precondition(count <= CompiledPattern.mostSpans, "too many groups")
        assert(count >= 1 && (0...length).contains(from), "a search begins outside the text, or has no space for its match")
        return library.find(handle, text, length, from, spans, Int32(count)) == 1
    }
}

/// The functions of `libswitchyard-patterns.so`, which is built from `Sources/System/CRE2`.
private struct PatternLibrary {
    typealias Compile = @convention(c) (UnsafeRawPointer?, Int, UnsafeMutablePointer<CChar>?, Int) -> UnsafeMutableRawPointer?
    typealias Matches = @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer?, Int) -> Int32
    typealias Size = @convention(c) (UnsafeMutableRawPointer) -> Int32
    typealias Groups = @convention(c) (UnsafeMutableRawPointer) -> Int32
    typealias Find =
        @convention(c) (
            UnsafeMutableRawPointer, UnsafeRawPointer?, Int, Int, UnsafeMutablePointer<Int>, Int32
        ) -> Int32
    typealias Free = @convention(c) (UnsafeMutableRawPointer) -> Void

    let compile: Compile
    let matches: Matches
    let size: Size
    let groups: Groups
    let find: Find
    let free: Free

    static let name = "libswitchyard-patterns.so"
    static let shared: Result<PatternLibrary, PatternFault> = {
        guard let library = load() else {
            let why = dlerror().map { String(cString: $0) } ?? "unknown error"
            return .failure(
                PatternFault(message: "regular expressions need \(name) beside the program, and libre2: \(why)", isMissing: true))
        }
        guard let compile = dlsym(library, "switchyard_pattern_compile"), let matches = dlsym(library, "switchyard_pattern_matches"),
            let size = dlsym(library, "switchyard_pattern_size"), let groups = dlsym(library, "switchyard_pattern_groups"),
            let find = dlsym(library, "switchyard_pattern_find"),
            let free = dlsym(library, "switchyard_pattern_free")
        else { return .failure(PatternFault(message: "\(name) is of another version of the program", isMissing: true)) }
        return .success(
            PatternLibrary(
                compile: unsafeBitCast(compile, to: Compile.self), matches: unsafeBitCast(matches, to: Matches.self),
                size: unsafeBitCast(size, to: Size.self), groups: unsafeBitCast(groups, to: Groups.self),
                find: unsafeBitCast(find, to: Find.self),
                free: unsafeBitCast(free, to: Free.self)))
    }()

    private static func load() -> UnsafeMutableRawPointer? {
        // The loader searches where it finds the other libraries of the executable. If this code is part of a module, the loader may search
        // where it finds the libraries of the module, which is loaded from a copy in memory. So the folders of the program come next.
        if let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) { return library }
        let program = OwnProgram.path
        guard let slash = program.lastIndex(of: "/") else { return nil }
        let folder = program[..<slash]
        for place in ["\(folder)/../lib/switchyard/\(name)", "\(folder)/\(name)"] {
            if let library = dlopen(place, RTLD_NOW | RTLD_LOCAL) { return library }
        }
        return nil
    }
}
