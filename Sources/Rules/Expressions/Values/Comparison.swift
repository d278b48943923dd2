// The order of values, also between the types of numbers as CEL defines it. If one of two numbers is a double, the other one is
// converted to a double first.

enum Order: BitwiseCopyable {
    case less, equal, greater
    /// There is no order, because one of the two is NaN.
    case none

    @inline(__always) init<T: Comparable>(_ a: T, _ b: T) { self = a < b ? .less : a == b ? .equal : a > b ? .greater : .none }

    @inline(__always) init(_ a: Int64, _ b: UInt64) { self = a < 0 ? .less : Order(UInt64(a), b) }

    @inline(__always) var reversed: Order {
        switch self {
        case .less: .greater
        case .greater: .less
        case .equal, .none: self
        }
    }

    @inline(__always) func satisfies(_ comparison: Operator) -> Bool {
        switch comparison {
        case .equal: self == .equal
        case .unequal: self != .equal
        case .less: self == .less
        case .lessOrEqual: self == .less || self == .equal
        case .greater: self == .greater
        case .greaterOrEqual: self == .greater || self == .equal
        default: false
        }
    }
}

extension JSONNumber {
    @inline(__always) func order(_ other: JSONNumber) -> Order {
        switch (self, other) {
        case (.int(let a), .int(let b)): Order(a, b)
        case (.int(let a), .uint(let b)): Order(a, b)
        case (.int(let a), .double(let b)): Order(Double(a), b)
        case (.uint(let a), .int(let b)): Order(b, a).reversed
        case (.uint(let a), .uint(let b)): Order(a, b)
        case (.uint(let a), .double(let b)): Order(Double(a), b)
        case (.double(let a), .int(let b)): Order(a, Double(b))
        case (.double(let a), .uint(let b)): Order(a, Double(b))
        case (.double(let a), .double(let b)): Order(a, b)
        }
    }
}

extension Value {
    var number: JSONNumber? {
        switch self {
        case .int(let value): .int(value)
        case .uint(let value): .uint(value)
        case .double(let value): .double(value)
        default: nil
        }
    }

    /// Returns the order of two values. It is nil if values of these types have no order.
    func order(_ other: Value) -> Order? {
        if let a = number, let b = other.number { return a.order(b) }
        switch (self, other) {
        case (.bool(let a), .bool(let b)): return Order(a ? 1 : 0, b ? 1 : 0)
        case (.string(let a), .string(let b)): return order(a.bytes, b.bytes)
        case (.bytes(let a), .bytes(let b)): return order(a, b)
        case (.timestamp(let a), .timestamp(let b)): return Order(a, b)
        case (.duration(let a), .duration(let b)): return Order(a, b)
        case (.version(let a), .version(let b)): return Order(a, b)
        case (.ip(let a), .ip(let b)): return Order(a, b)
        default: return nil
        }
    }

    private func order(_ a: [UInt8], _ b: [UInt8]) -> Order {
        if a == b { return .equal }
        return a.lexicographicallyPrecedes(b) ? .less : .greater
    }
}
