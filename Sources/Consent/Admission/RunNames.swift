// The names of all routes that events of this run came by, and those of all levels that they were admitted under: those of the plan,
// those of plans that a reload replaced, and those that a spool still knows from an earlier run. A number, once given, stands for its
// name to the end of the run.

internal import Platform

public final class RunNames: Sendable {
    private let state = Monitor(State())

    private struct State {
        var names: [String] = []
        var numbers: [String: UInt16] = [:]
    }

    /// These names have the numbers from 0 on, in their order, also those that are there twice.
    public init(_ names: [String] = []) {
        state.withLock { state in
            state.names = names
            for (number, name) in names.enumerated() where state.numbers[name] == nil { state.numbers[name] = UInt16(number) }
        }
    }

    /// The number of that name, a new one if need be. nil: there are as many names as an entry can tell apart.
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
