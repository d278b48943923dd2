// The names of all routes that events of this run came by, and those of all levels that they were admitted under. They include names of
// replaced plans, and names that a spool has from an earlier run. A number that was given stands for its name until the run ends.

internal import Platform

public final class RunNames: Sendable {
    private let state = Monitor(State())

    private struct State {
        var names: [String] = []
        var numbers: [String: UInt16] = [:]
    }

    /// Gives these names the numbers from 0 on, in their order. A name that occurs twice takes up two numbers.
    public init(_ names: [String] = []) {
        state.withLock { state in
            state.names = names
            for (number, name) in names.enumerated() where state.numbers[name] == nil { state.numbers[name] = UInt16(number) }
        }
    }

    /// Returns the number of the name, and gives it a new one if needed. Returns nil if an entry cannot hold more numbers.
    public func number(of name: String) -> UInt16? {
        state.withLock { state in
            if let number = state.numbers[name] { return number }
            guard let number = UInt16(exactly: state.names.count) else { return nil }
            state.names.append(name)
            state.numbers[name] = number
            return number
        }
    }

    public subscript(number: UInt16) -> String { state.withLock { $0.names[Int(number)] } }
    public var all: [String] { state.withLock { $0.names } }
}
