// Checks a JSON text against a schema, both as a test writes them.

import Document
import Events

@testable import JSONSchema

struct SchemaUnderTest {
    let schema: JSONSchema
    let root: Int

    init(_ text: String) throws {
        let source = Source(Array(text.utf8))
        var compiler = SchemaCompiler()
        root = try compiler.add(Outline.read(source, resolving: nil).root, in: source)
        schema = compiler.finish()
    }

    /// Returns the violation as `pointer: keyword`, or nil.
    func violation(_ value: String) -> String? {
        let store = Store()
        defer { withExtendedLifetime(store) {} }
        let text = store.text(Array((value + "}").utf8))
        let start = skipSpace(text.base)
        var checker = SchemaChecker(schema)
        guard let found = checker.check(start, root: root) else { return nil }
        return "\(ViolationPlace(of: found.value, in: start).pointer): \(found.keyword.rawValue)"
    }
}
