// Regular expressions by libre2, whose time to match is always proportional to the length of the text. The library is loaded when the
// first pattern is compiled. A router without patterns neither loads nor needs it.

public import Events
internal import Glibc
internal import Platform

public struct PatternFault: Error {
    public var message: String
    /// True if the library cannot be used.
    public var isMissing = false
}

/// A pattern that matches anywhere in a text, as `matches` does. Any number of threads can use it at the same time.
public final class CompiledPattern: @unchecked Sendable {
    /// The most spans that `find` fills: one for the match and nine for groups.
    public static let mostSpans = 10

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
        self.handle = handle
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
    typealias Groups = @convention(c) (UnsafeMutableRawPointer) -> Int32
    typealias Find =
        @convention(c) (
            UnsafeMutableRawPointer, UnsafeRawPointer?, Int, Int, UnsafeMutablePointer<Int>, Int32
        ) -> Int32
    typealias Free = @convention(c) (UnsafeMutableRawPointer) -> Void

    let compile: Compile
    let matches: Matches
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
            let groups = dlsym(library, "switchyard_pattern_groups"), let find = dlsym(library, "switchyard_pattern_find"),
            let free = dlsym(library, "switchyard_pattern_free")
        else { return .failure(PatternFault(message: "\(name) is of another version of the program", isMissing: true)) }
        return .success(
            PatternLibrary(
                compile: unsafeBitCast(compile, to: Compile.self), matches: unsafeBitCast(matches, to: Matches.self),
                groups: unsafeBitCast(groups, to: Groups.self), find: unsafeBitCast(find, to: Find.self),
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
