// Checks a JSON text against a schema, both as a test writes them.

import Document
import Events
import Testing

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
        let words = checker.check(start, root: root).map { SchemaUnderTest.words($0, in: start) }
        #expect(listedViolation(value) == words, "\(value) is judged otherwise if its members are listed")
        return words
    }

    private static func words(_ found: Violation, in value: Bytes) -> String {
        "\(ViolationPlace(of: found.value, in: value).pointer): \(found.keyword.rawValue)"
    }

    /// Returns the same for a value whose members the scanner lists if it can.
    private func listedViolation(_ value: String) -> String? {
        let store = Store()
        defer { withExtendedLifetime(store) {} }
        let text = store.text(Array("{\"value\":\(value)}\n".utf8))
        let path = Path(keys: ["value"])
        let paths = PathTrie([path], listing: path)
        var scanner = Scanner(paths)
        var checker = SchemaChecker(schema)
        guard let event = scanner.scan(text.base, 0) else {
            Issue.record("no JSON: \(value)")
            return nil
        }
        let start = event.block + Int(event.slots[paths.listed].start)
        guard let list = ListedMembers(of: event, slot: paths.listed, slots: paths.count) else {
            return checker.check(start, root: root).map { SchemaUnderTest.words($0, in: start) }
        }
        return checker.satisfies(start, root: root, list, in: event.block) ? nil : SchemaUnderTest.words(checker.violation!, in: start)
    }
}
