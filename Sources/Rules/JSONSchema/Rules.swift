// The compiled form of a schema: plain values that refer to each other by index, and to texts of the schema by pointer. A schema can refer to
// itself, so an index stands for each subschema. Nothing here changes after the compilation.

internal import Events

/// A set of JSON types. An integer is a number without a fraction.
struct TypeSet: OptionSet, BitwiseCopyable {
    let rawValue: UInt8
    static let null = TypeSet(rawValue: 1)
    static let boolean = TypeSet(rawValue: 2)
    static let object = TypeSet(rawValue: 4)
    static let array = TypeSet(rawValue: 8)
    static let number = TypeSet(rawValue: 16)
    static let string = TypeSet(rawValue: 32)
    static let integer = TypeSet(rawValue: 64)
    static let all = TypeSet(rawValue: 127)

    static let names: [(name: String, type: TypeSet)] = [
        ("null", .null), ("boolean", .boolean), ("object", .object), ("array", .array), ("number", .number), ("string", .string),
        ("integer", .integer),
    ]
}

/// One subschema. An index of -1 means that the keyword is not there.
struct SchemaRule: BitwiseCopyable {
    /// False for the schema `false`, which no value satisfies.
    var isSatisfiable = true
    var types = TypeSet.all
    /// True if it has keywords for this type of value, so that the others need not be looked at.
    var testsNumbers = false, testsStrings = false, testsObjects = false, testsArrays = false
    /// True if it has other keywords that look at the value as a whole.
    var isCombined = false
    /// The schema resource that it is a part of, and its place among the places of schemas.
    var resource = 0
    /// The values of `enum`, or the one of `const`, as JSON texts. The base is nil without these keywords.
    var values: UnsafeBufferPointer<ByteRun>?
    var isConstant = false

    // Numbers
    var minimum: UnsafePointer<DecimalText>?
    var maximum: UnsafePointer<DecimalText>?
    var exclusiveMinimum: UnsafePointer<DecimalText>?
    var exclusiveMaximum: UnsafePointer<DecimalText>?
    var multipleOf: UnsafePointer<Divisor>?
    /// The bounds as doubles, if `minimum` and `maximum` are the only keywords for numbers and both are short, or not there.
    var shortBounds: ShortBounds?

    // Strings
    var minLength = 0, maxLength = Int.max
    var pattern = -1

    // Lists
    var minItems = 0, maxItems = Int.max
    var prefix = UnsafeBufferPointer<Int>(start: nil, count: 0)
    var items = -1
    var contains = -1
    var minContains = 1, maxContains = Int.max
    var isUnique = false
    var unevaluatedItems = -1

    // Objects
    /// True if it names members, and no keyword but `properties` looks at those that it names.
    var isPlain = false
    var minProperties = 0, maxProperties = Int.max
    var members = UnsafeBufferPointer<MemberRule>(start: nil, count: 0)
    /// Finds their indices by their keys.
    var keys = KeyTable()
    /// One bit for each of the first 64 members that is required, and the number of the others that are.
    var requiredBits: UInt64 = 0
    var otherRequired = 0
    var patterns = UnsafeBufferPointer<PatternRule>(start: nil, count: 0)
    var additional = -1
    var names = -1
    var dependents = UnsafeBufferPointer<DependentRule>(start: nil, count: 0)
    var unevaluatedProperties = -1

    // Combinations
    var allOf = UnsafeBufferPointer<Int>(start: nil, count: 0)
    var anyOf = UnsafeBufferPointer<Int>(start: nil, count: 0)
    var oneOf = UnsafeBufferPointer<Int>(start: nil, count: 0)
    var not = -1
    var condition = -1, consequence = -1, alternative = -1
    var reference = -1
    /// The index of the name of `$dynamicRef`, if the place that it refers to at first is a dynamic one.
    var dynamicName = -1

    /// True if the members of an object, or the items of a list, that no other keyword looked at have a schema.
    var tracksRest: Bool { unevaluatedItems >= 0 || unevaluatedProperties >= 0 }
}

/// The least and the most that a number may be.
struct ShortBounds: BitwiseCopyable {
    var least = -Double.infinity
    var most = Double.infinity
}

/// A member that a schema names.
struct MemberRule: BitwiseCopyable {
    /// The key, decoded to UTF-8.
    let key: ByteRun

    /// Its schema, or -1 if `properties` does not name it.
    var schema = -1
    var isRequired = false
}

/// The members whose keys match a pattern.
struct PatternRule: BitwiseCopyable {
    let pattern: Int
    let schema: Int
}

/// What an object must have or be if it has this member.
struct DependentRule: BitwiseCopyable {
    let key: ByteRun
    var required = UnsafeBufferPointer<ByteRun>(start: nil, count: 0)
    var schema = -1
}

/// The schema that a dynamic name means in one schema resource.
struct DynamicPlace: BitwiseCopyable {
    let name: Int
    let resource: Int
    let schema: Int
}
