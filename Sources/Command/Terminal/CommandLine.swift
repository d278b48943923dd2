// Declares the command line once: parsing, checks, suggestions and help all use the same tables.

/// An option of a subcommand.
public struct Option: Sendable {
    /// The name with its dashes, such as `--workers`.
    public var name: String
    var short: String?
    /// The name of its value in the help. It is nil if the option takes no value.
    var value: String?
    /// True if the option may be given without its value.
    var isValueOptional: Bool
    var about: String

    public init(name: String, short: String? = nil, value: String? = nil, isValueOptional: Bool = false, about: String) {
        assert(name.hasPrefix("--") && (short?.utf8.count ?? 2) == 2, "an option needs a name such as --workers, or -w in short")
        assert(!isValueOptional || value != nil, "only a value can be optional")
        self.name = name
        self.short = short
        self.value = value
        self.isValueOptional = isValueOptional
        self.about = about
    }
}

/// A subcommand.
public struct Command: Sendable {
    public var name: String
    public var about: String
    /// The help text after `about`.
    var details: String
    /// The name of the first positional argument. It is nil if there is none.
    var argument: String?
    /// The names of the positional arguments after the first.
    var rest: [String]
    /// True if the last argument may be repeated.
    var repeats: Bool
    var options: [Option]
    /// Runs the subcommand and returns the exit code.
    public var run: @Sendable (Arguments) throws -> Int32

    public init(
        name: String, about: String, details: String = "", argument: String? = nil, rest: [String] = [], repeats: Bool = false,
        options: [Option] = [], run: @escaping @Sendable (Arguments) throws -> Int32
    ) {
        assert(Set(options.map(\.name) + [Command.help.name]).count == options.count + 1, "an option of \(name) is declared twice")
        assert(argument != nil || rest.isEmpty && !repeats, "\(name) has later arguments without a first one")
        self.name = name
        self.about = about
        self.details = details
        self.argument = argument
        self.rest = rest
        self.repeats = repeats
        self.options = options
        self.run = run
    }
}

/// The arguments that were given to a subcommand.
public struct Arguments {
    public var argument: String?
    /// The positional arguments after the first.
    public var rest: [String] = []
    public var values: [String: String] = [:]

    public init() {}

    /// All positional arguments.
    public var all: [String] { [argument].compactMap(\.self) + rest }
    public func has(_ option: String) -> Bool { values[option] != nil }
    public subscript(_ option: String) -> String? { values[option] }

    /// Returns the number that the option has. Returns nil if the option was not given.
    public func number(_ option: String, in range: ClosedRange<Int>) throws(UsageFault) -> Int? {
        guard let text = self[option] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageFault("\(option) must be a number from \(range.lowerBound) to \(range.upperBound), is '\(text)'")
        }
        return number
    }
}

/// The command was used wrongly. The message says what is wrong, and how to fix it.
public struct UsageFault: Error {
    public var message: String
    public init(_ message: String) { self.message = message }
}

extension Command {
    static let help = Option(name: "--help", short: "-h", about: "show this help")

    public func parse(_ words: ArraySlice<String>) throws(UsageFault) -> Arguments {
        var arguments = Arguments()
        var left = words
        var optionsEnded = false
        while let word = left.popFirst() {
            if optionsEnded || !Command.isOption(word) {
                if argument != nil, arguments.argument == nil {
                    arguments.argument = word
                } else if repeats || arguments.rest.count < rest.count {
                    arguments.rest.append(word)
                } else {
                    throw UsageFault("unexpected argument '\(word)'; \(seeHelp)")
                }
            } else if word == "--" {
                optionsEnded = true
            } else {
                try parseOption(word, rest: &left, arguments: &arguments)
            }
        }
        return arguments
    }

    /// Returns true for `-c`, `--config` and `--config=x`, and false for `-`, for a number such as `-1` and for an expression such as `-a + 2`.
    private static func isOption(_ word: String) -> Bool {
        guard word.hasPrefix("-"), word != "-" else { return false }
        let name = word.utf8.prefix { $0 != UInt8(ascii: "=") }.drop { $0 == UInt8(ascii: "-") }
        let isLetter = name.first.map { (0x61...0x7A).contains($0 | 0x20) } ?? true
        return isLetter && !name.contains(UInt8(ascii: " "))
    }

    private func parseOption(_ word: String, rest: inout ArraySlice<String>, arguments: inout Arguments) throws(UsageFault) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let known = options + [Command.help]
        guard let option = known.first(where: { $0.name == parts[0] || $0.short == parts[0] }) else {
            let near = nearest(to: parts[0], among: known.map(\.name)).map { ", did you mean \($0)?" } ?? ";"
            throw UsageFault("unknown option '\(parts[0])'\(near) \(seeHelp)")
        }
        guard arguments.values[option.name] == nil else { throw UsageFault("\(option.name) was given twice") }
        switch (option.value, parts.count) {
        case (nil, 1): arguments.values[option.name] = ""
        case (nil, _): throw UsageFault("\(option.name) takes no value, was given '\(parts[1])'")
        case (_?, 2): arguments.values[option.name] = parts[1]
        case (_?, _) where option.isValueOptional && (rest.first?.hasPrefix("-") ?? true): arguments.values[option.name] = ""
        case (let value?, _):
            guard let next = rest.popFirst() else { throw UsageFault("\(option.name) needs a value: \(option.name) \(value)") }
            arguments.values[option.name] = next
        }
    }

    private var seeHelp: String { "see switchyard \(name) --help" }

    public var helpText: String {
        var usage = "Usage: switchyard \(name)"
        if !options.isEmpty { usage += " [OPTIONS]" }
        let arguments = [argument].compactMap(\.self) + rest
        for (index, argument) in arguments.enumerated() {
            usage += " [\(argument)\(repeats && index == arguments.count - 1 ? "…" : "")]"
        }
        var text = usage + "\n\n" + about + "\n"
        if !details.isEmpty { text += "\n" + details + "\n" }
        text += "\nOptions:\n"
        text += columns((options + [Command.help]).map { ($0.spelled, $0.about) })
        return text
    }
}

extension Option {
    /// The option as the help shows it, such as `-c, --config FILE`.
    var spelled: String { (short.map { $0 + ", " } ?? "    ") + name + (value.map { isValueOptional ? " [\($0)]" : " " + $0 } ?? "") }
}

/// Formats rows in two columns. The first column is as wide as its widest cell.
public func columns(_ rows: [(String, String)]) -> String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { "  " + $0.0 + String(repeating: " ", count: width - $0.0.count + 2) + $0.1 + "\n" }.joined()
}

/// Returns the candidate that was probably meant. Its edit distance is at most two and less than half of its length.
public func nearest(to word: String, among candidates: [String]) -> String? {
    candidates.map { ($0, distance(word, $0)) }
        .filter { $0.1 <= 2 && $0.1 * 2 < $0.0.count }
        .min { $0.1 < $1.1 }?.0
}

/// Returns the edit distance: how many bytes must be inserted, removed or replaced to turn one word into the other.
private func distance(_ a: String, _ b: String) -> Int {
    let a = Array(a.utf8)
    let b = Array(b.utf8)
    var row = Array(0...b.count)
    for i in a.indices {
        var diagonal = row[0]
        row[0] = i + 1
        for j in b.indices {
            let substitution = diagonal + (a[i] == b[j] ? 0 : 1)
            diagonal = row[j + 1]
            row[j + 1] = min(substitution, row[j] + 1, row[j + 1] + 1)
        }
    }
    return row[b.count]
}
