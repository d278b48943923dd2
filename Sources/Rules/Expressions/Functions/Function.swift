// Every function that an expression can call, and the overloads of functions and operators. The checker and the compiler use them.

enum Function: String, CaseIterable, Sendable {
    case size, contains, startsWith, endsWith, matches
    case charAt, indexOf, lastIndexOf, lowerAscii, upperAscii, replace, split, join, substring, trim, format, quote, reverse
    case int, uint, double, string, bytes, bool, timestamp, duration, type, dyn
    case getFullYear, getMonth, getDate, getDayOfMonth, getDayOfWeek, getDayOfYear, getHours, getMinutes, getSeconds, getMilliseconds
    case greatest = "math.greatest"
    case least = "math.least"
    case abs = "math.abs"
    case sign = "math.sign"
    case sqrt = "math.sqrt"
    case ceil = "math.ceil"
    case floor = "math.floor"
    case round = "math.round"
    case trunc = "math.trunc"
    case isNaN = "math.isNaN"
    case isInf = "math.isInf"
    case isFinite = "math.isFinite"
    case bitAnd = "math.bitAnd"
    case bitOr = "math.bitOr"
    case bitXor = "math.bitXor"
    case bitNot = "math.bitNot"
    case bitShiftLeft = "math.bitShiftLeft"
    case bitShiftRight = "math.bitShiftRight"
    case encodeBase64 = "base64.encode"
    case decodeBase64 = "base64.decode"
    case optionalOf = "optional.of"
    case optionalOfNonZeroValue = "optional.ofNonZeroValue"
    case optionalNone = "optional.none"
    case hasValue, value, or, orValue
    case glob, ip, isIP, version, isPrivate, isLoopback, isLinkLocal, inside, family, json

    /// Returns the function with this name. It is nil if there is none. `strings.quote` has the name `quote`.
    static func named(_ name: String) -> Function? { Function(rawValue: name) }

    /// Returns the name of the function that `target.name` is, such as `math.abs`. It is nil if `target` is a value with a function of its own.
    static func qualified(_ name: String, target: Node) -> String? {
        guard case .name(let space, _) = target.kind else { return nil }
        let full = "\(space).\(name)"
        return full == "strings.quote" ? "quote" : Function(rawValue: full) == nil ? nil : full
    }

    struct Overload: Sendable {
        var isMember: Bool
        var parameters: [Type]
        var result: Type
    }

    var overloads: [Overload] { Function.declared[self] ?? [] }

    private static func plain(_ parameters: Type..., result: Type) -> Overload {
        Overload(isMember: false, parameters: parameters, result: result)
    }

    private static func member(_ parameters: Type..., result: Type) -> Overload {
        Overload(isMember: true, parameters: parameters, result: result)
    }

    private static let declared: [Function: [Overload]] = {
        let a = Type.parameter("A")
        let b = Type.parameter("B")
        var all: [Function: [Overload]] = [
            .size: [Type.string, .bytes, .list(a), .map(a, b)].flatMap { [plain($0, result: .int), member($0, result: .int)] },
            .contains: [member(.string, .string, result: .bool)],
            .startsWith: [member(.string, .string, result: .bool)],
            .endsWith: [member(.string, .string, result: .bool)],
            .matches: [member(.string, .string, result: .bool), plain(.string, .string, result: .bool)],
            .charAt: [member(.string, .int, result: .string)],
            .indexOf: [member(.string, .string, result: .int), member(.string, .string, .int, result: .int)],
            .lastIndexOf: [member(.string, .string, result: .int), member(.string, .string, .int, result: .int)],
            .lowerAscii: [member(.string, result: .string)],
            .upperAscii: [member(.string, result: .string)],
            .replace: [
                member(.string, .string, .string, result: .string), member(.string, .string, .string, .int, result: .string),
            ],
            .split: [member(.string, .string, result: .list(.string)), member(.string, .string, .int, result: .list(.string))],
            .join: [member(.list(.string), result: .string), member(.list(.string), .string, result: .string)],
            .substring: [member(.string, .int, result: .string), member(.string, .int, .int, result: .string)],
            .trim: [member(.string, result: .string)],
            .format: [member(.string, .list(.dyn), result: .string)],
            .quote: [plain(.string, result: .string)],
            .reverse: [member(.string, result: .string)],
            .int: [Type.int, .uint, .double, .string, .timestamp].map { plain($0, result: .int) },
            .uint: [Type.uint, .int, .double, .string].map { plain($0, result: .uint) },
            .double: [Type.double, .int, .uint, .string].map { plain($0, result: .double) },
            .string: [Type.string, .bool, .int, .uint, .double, .bytes, .timestamp, .duration, .ip, .version].map {
                plain($0, result: .string)
            },
            .bytes: [plain(.bytes, result: .bytes), plain(.string, result: .bytes)],
            .bool: [plain(.bool, result: .bool), plain(.string, result: .bool)],
            .timestamp: [Type.timestamp, .string, .int].map { plain($0, result: .timestamp) },
            .duration: [Type.duration, .string].map { plain($0, result: .duration) },
            .type: [plain(a, result: .type(a))],
            .json: [plain(a, result: .string)],
            .dyn: [plain(a, result: .dyn)],
            .glob: [plain(.string, .string, result: .bool), member(.string, .string, result: .bool)],
            .ip: [plain(.string, result: .ip), plain(.ip, result: .ip)],
            .isIP: [plain(.string, result: .bool)],
            .version: [plain(.string, result: .version), plain(.version, result: .version)],
            .isPrivate: [member(.ip, result: .bool)],
            .isLoopback: [member(.ip, result: .bool)],
            .isLinkLocal: [member(.ip, result: .bool)],
            .inside: [member(.ip, .string, result: .bool), member(.ip, .list(.string), result: .bool)],
            .family: [member(.ip, result: .int)],
        ]
        for accessor in [
            Function.getFullYear, .getMonth, .getDate, .getDayOfMonth, .getDayOfWeek, .getDayOfYear, .getHours, .getMinutes, .getSeconds,
            .getMilliseconds,
        ] {
            all[accessor] = [member(.timestamp, result: .int), member(.timestamp, .string, result: .int)]
        }
        for accessor in [Function.getHours, .getMinutes, .getSeconds, .getMilliseconds] {
            all[accessor]?.append(member(.duration, result: .int))
        }
        let numbers = [Type.int, .uint, .double]
        for function in [Function.greatest, .least] {
            all[function] = numbers.map { plain($0, result: $0) } + numbers.map { plain(.list($0), result: $0) }
        }
        for function in [Function.abs, .sign] { all[function] = numbers.map { plain($0, result: $0) } }
        all[.sqrt] = numbers.map { plain($0, result: .double) }
        for function in [Function.ceil, .floor, .round, .trunc] { all[function] = [plain(.double, result: .double)] }
        for function in [Function.isNaN, .isInf, .isFinite] { all[function] = [plain(.double, result: .bool)] }
        for function in [Function.bitAnd, .bitOr, .bitXor] { all[function] = [Type.int, .uint].map { plain($0, $0, result: $0) } }
        all[.bitNot] = [Type.int, .uint].map { plain($0, result: $0) }
        for function in [Function.bitShiftLeft, .bitShiftRight] { all[function] = [Type.int, .uint].map { plain($0, .int, result: $0) } }
        let optional = Type.optional(a)
        for function in [Function.optionalOf, .optionalOfNonZeroValue] { all[function] = [plain(a, result: optional)] }
        all[.optionalNone] = [plain(result: optional)]
        all[.hasValue] = [member(optional, result: .bool)]
        all[.value] = [member(optional, result: a)]
        all[.or] = [member(optional, optional, result: optional)]
        all[.orValue] = [member(optional, a, result: a)]
        all[.encodeBase64] = [plain(.bytes, result: .string)]
        all[.decodeBase64] = [plain(.string, result: .bytes)]
        return all
    }()
}

extension Operator {
    /// The types of operands that it takes. There are none for `==`, `!=`, `&&`, `||` and `?:`, which the checker checks itself.
    var overloads: [Function.Overload] { Operator.declared[self] ?? [] }

    private static let declared: [Operator: [Function.Overload]] = {
        func takes(_ parameters: Type..., result: Type) -> Function.Overload {
            Function.Overload(isMember: false, parameters: parameters, result: result)
        }
        let a = Type.parameter("A")
        let b = Type.parameter("B")
        let numbers = [Type.int, .uint, .double].map { takes($0, $0, result: $0) }
        let numberPairs = [Type.int, .uint, .double].flatMap { left in
            [Type.int, .uint, .double].map { takes(left, $0, result: .bool) }
        }
        let ordered = numberPairs + [Type.bool, .string, .bytes, .timestamp, .duration, .ip, .version].map { takes($0, $0, result: .bool) }
        return [
            .add: numbers + [
                takes(.string, .string, result: .string), takes(.bytes, .bytes, result: .bytes),
                takes(.list(a), .list(a), result: .list(a)), takes(.timestamp, .duration, result: .timestamp),
                takes(.duration, .timestamp, result: .timestamp), takes(.duration, .duration, result: .duration),
            ],
            .subtract: numbers + [
                takes(.timestamp, .duration, result: .timestamp), takes(.timestamp, .timestamp, result: .duration),
                takes(.duration, .duration, result: .duration),
            ],
            .multiply: numbers, .divide: numbers,
            .remainder: [takes(.int, .int, result: .int), takes(.uint, .uint, result: .uint)],
            .less: ordered, .lessOrEqual: ordered, .greater: ordered, .greaterOrEqual: ordered,
            .in: [takes(a, .list(a), result: .bool), takes(a, .map(a, b), result: .bool)],
            .not: [takes(.bool, result: .bool)],
            .negate: [takes(.int, result: .int), takes(.double, result: .double)],
        ]
    }()
}
