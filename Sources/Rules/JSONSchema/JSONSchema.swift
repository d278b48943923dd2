// JSON Schemas of the draft 2020-12, compiled for a checker that works on the bytes of an event. `format` and the keywords about contents are
// annotations and check nothing, as the specification has it. A reference to another document is a fault, except to the metaschema.

public import Document
internal import Events
internal import Expressions

public final class JSONSchema: @unchecked Sendable {
    /// The most subschemas of all schemas together.
    public static let mostSubschemas = 100_000

    let rules: UnsafeBufferPointer<SchemaRule>
    /// What decides at once about most values, for each of the rules.
    let quick: UnsafeBufferPointer<QuickRule>
    let patterns: [CompiledPattern]
    let dynamicPlaces: UnsafeBufferPointer<DynamicPlace>
    let hasDynamicNames: Bool
    private let store: Store

    init(_ rules: [SchemaRule], patterns: [CompiledPattern], dynamicPlaces: [DynamicPlace], store: Store) {
        let hasDynamicNames = !dynamicPlaces.isEmpty && rules.contains { $0.dynamicName >= 0 }
        quick = store.list(rules.map { hasDynamicNames ? QuickRule() : QuickRule($0, store: store) })
        self.rules = store.list(rules)
        self.patterns = patterns
        self.dynamicPlaces = store.list(dynamicPlaces)
        self.hasDynamicNames = hasDynamicNames
        self.store = store
    }
}

/// Why a schema cannot be used, and where in its document.
public struct SchemaFault: Error {
    /// The offset in the document that was given.
    public var offset: Int
    public var message: String
}

/// Compiles schemas. They share one `JSONSchema`, in which each has its root.
public struct SchemaCompiler {
    /// Returns the text of another document by its address, or nil. Only tests have other documents.
    public typealias Resolver = (_ address: String) -> [UInt8]?

    let store = Store()
    var documents: SchemaDocuments
    var rules: [SchemaRule] = []
    var patterns: [CompiledPattern] = []
    var patternIndices: [String: Int] = [:]
    /// The index of each subschema that was met, by its place.
    var known: [SchemaPlace.Identity: Int] = [:]
    /// The index of each subschema that means the same wherever it stands, by its text. Events of a plan often have the same members, and
    /// the check is faster if their schemas are there once, because they stay in the cache of the processor.
    var shared: [[UInt8]: Int] = [:]
    var dynamicNames: [String: Int] = [:]
    var dynamicPlaces: [DynamicPlace] = []
    /// The resources that were met: those whose dynamic places are listed, and the others.
    var listed: Set<Int> = []
    var unlisted: Set<Int> = []

    public init(resolving resolver: @escaping Resolver = { _ in nil }) { documents = SchemaDocuments(resolver) }

    /// Compiles the schema at `node`, a value of the document `source`. Returns its root for `SchemaChecker.check`.
    public mutating func add(_ node: Node, in source: Source) throws(SchemaFault) -> Int {
        let place = documents.add(node, source, store: store)
        return try compile(place)
    }

    public func finish() -> JSONSchema {
        JSONSchema(rules, patterns: patterns, dynamicPlaces: dynamicPlaces, store: store)
    }
}
