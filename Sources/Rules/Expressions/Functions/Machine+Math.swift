// The extension `math` of CEL: rounding, signs, extremes and bits. A number of the event that is written as an integer counts as a double
// where a function takes only doubles, so that 10 and 10.0 give the same result.

internal import Glibc

extension Machine {
    /// Rounds a number, or says something about it.
    func math(_ function: Function, _ value: Value, _ code: Code) throws(Failure) -> Value {
        switch (function, value) {
        case (.abs, .int(let number)):
            guard number != .min else { throw code.failure(.overflow) }
            return .int(Swift.abs(number))
        case (.abs, .uint), (.sign, .uint(0)): return value
        case (.abs, .double(let number)): return .double(number.magnitude)
        case (.sign, .int(let number)): return .int(number.signum())
        case (.sign, .uint): return .uint(1)
        case (.sign, .double(let number)): return .double(number.isNaN || number == 0 ? number : number < 0 ? -1 : 1)
        case (.sqrt, .int(let number)): return .double(Double(number).squareRoot())
        case (.sqrt, .uint(let number)): return .double(Double(number).squareRoot())
        case (.sqrt, .double(let number)): return .double(number.squareRoot())
        default: break
        }
        let number = try double(value, code)
        switch function {
        case .ceil: return .double(number.rounded(.up))
        case .floor: return .double(number.rounded(.down))
        case .round: return .double(number.rounded(.toNearestOrAwayFromZero))
        case .trunc: return .double(number.rounded(.towardZero))
        case .isNaN: return .bool(number.isNaN)
        case .isInf: return .bool(number.isInfinite)
        case .isFinite: return .bool(number.isFinite)
        default: throw code.failure(.noOverload)
        }
    }

    private func double(_ value: Value, _ code: Code) throws(Failure) -> Double {
        switch value {
        case .double(let number): return number
        case .int(let number) where code.promotes: return Double(number)
        case .uint(let number) where code.promotes: return Double(number)
        default: throw code.failure(.noOverload)
        }
    }

    /// Returns the largest or the smallest element of a list, the first one of equals. A number that is no list is returned itself.
    mutating func extreme(_ function: Function, _ value: Value, _ code: Code) throws(Failure) -> Value {
        guard case .list = value else {
            guard value.number != nil else { throw code.failure(.noOverload) }
            return value
        }
        var elements = Elements(value)
        var found: Value?
        while let element = try next(&elements, code) {
            guard element.number != nil else { throw code.failure(.noOverload) }
            guard let best = found else {
                found = element
                continue
            }
            guard let order = element.order(best) else { continue }
            if order.satisfies(function == .greatest ? .greater : .less) { found = element }
        }
        guard let found else { throw code.failure(.emptyList) }
        return found
    }

    /// Combines or shifts the bits of integers. A shift to the right fills with zeros.
    mutating func bits(_ function: Function, _ first: Value, _ code: Code) throws(Failure) -> Value {
        let word: UInt64
        switch first {
        case .int(let number): word = UInt64(bitPattern: number)
        case .uint(let number): word = number
        default: throw code.failure(.noOverload)
        }
        let isSigned = if case .int = first { true } else { false }
        func result(_ word: UInt64) -> Value { isSigned ? .int(Int64(bitPattern: word)) : .uint(word) }
        if function == .bitNot { return result(~word) }
        let second = try value(code.children[1])
        if function == .bitShiftLeft || function == .bitShiftRight {
            guard case .int(let places) = second else { throw code.failure(.noOverload) }
            guard places >= 0 else { throw code.failure(.range) }
            guard places < 64 else { return result(0) }
            return result(function == .bitShiftLeft ? word << UInt64(places) : word >> UInt64(places))
        }
        let other: UInt64
        switch second {
        case .int(let number) where isSigned: other = UInt64(bitPattern: number)
        case .uint(let number) where !isSigned: other = number
        default: throw code.failure(.noOverload)
        }
        return result(function == .bitAnd ? word & other : function == .bitOr ? word | other : word ^ other)
    }
}
