// What the checker finds, where it finds it, and where it stops.

import Events
import Testing

@testable import JSONSchema

struct CheckerTests {
    @Test func theFirstViolationIsNamedByItsPlaceAndItsKeyword() throws {
        let schema = try SchemaUnderTest(
            #"""
            {"type": "object", "required": ["id"], "additionalProperties": false,
             "properties": {"id": {"type": "string", "minLength": 2}, "total": {"type": "number", "minimum": 0},
              "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"enum": ["a", "b"]}}}}}}
            """#)
        #expect(schema.violation(#"{"id": "ab", "total": 0.5, "items": [{"sku": "a"}]}"#) == nil)
        #expect(schema.violation(#"{"id": "a"}"#) == "/id: minLength")
        #expect(schema.violation(#"{"id": "ab", "total": -1}"#) == "/total: minimum")
        #expect(schema.violation(#"{"id": "ab", "items": [{}, {"sku": "c"}]}"#) == "/items/1/sku: enum")
        #expect(schema.violation(#"{"id": "ab", "other": 1}"#) == "/other: additionalProperties")
        #expect(schema.violation(#"{"total": 1}"#) == ": required")
        #expect(schema.violation(#"[]"#) == ": type")
    }

    @Test func schemasOfTheSameTextThatReferToOtherPlacesAreNotTakenForOne() throws {
        let schema = try SchemaUnderTest(
            ##"""
            {"$defs": {"x": {"type": "string"}},
             "properties": {"a": {"$ref": "#/$defs/x"},
              "b": {"$id": "https://example.com/b", "$defs": {"x": {"type": "number"}}, "properties": {"c": {"$ref": "#/$defs/x"}}}}}
            """##)
        #expect(schema.violation(#"{"a": "s", "b": {"c": 1}}"#) == nil)
        #expect(schema.violation(#"{"a": 1}"#) == "/a: type")
        #expect(schema.violation(#"{"b": {"c": "s"}}"#) == "/b/c: type")
    }

    @Test func aKeyThatStandsTwiceIsAViolationHoweverItIsWritten() throws {
        let schema = try SchemaUnderTest(#"{"properties": {"a": true}}"#)
        #expect(schema.violation(#"{"a": 1, "a": 1}"#) == "/a: duplicate")
        #expect(schema.violation(#"{"a": 1, "\u0061": 1}"#) == "/a: duplicate")
        #expect(schema.violation(#"{"b": 1, "\u0062": 1}"#) == "/b: duplicate")
        let many = (0..<40).map { "\"k\($0)\": 0" }.joined(separator: ",")
        #expect(schema.violation("{\(many)}") == nil)
        #expect(schema.violation("{\(many), \"k3\": 0}")?.hasSuffix("duplicate") == true)
        #expect(schema.violation("{\(many), \"k39\": 0}")?.hasSuffix("duplicate") == true)
    }

    @Test func keysAndStringsAreComparedByTheirTexts() throws {
        let schema = try SchemaUnderTest(#"{"properties": {"é/~": {"const": "a\"b"}}, "required": ["é/~"]}"#)
        #expect(schema.violation(#"{"\u00e9/~": "a\u0022b"}"#) == nil)
        #expect(schema.violation(#"{"\u00e9/~": "a"}"#) == "/é~1~0: const")
    }

    @Test func numbersAreComparedByTheirExactValues() throws {
        let schema = try SchemaUnderTest(#"{"maximum": 9007199254740993, "minimum": -0.1, "not": {"const": 7}}"#)
        #expect(schema.violation("9007199254740993") == nil)
        #expect(schema.violation("9007199254740993.0") == nil)
        #expect(schema.violation("9007199254740994") == ": maximum")
        #expect(schema.violation("1e400") == ": maximum")
        let short = try SchemaUnderTest(#"{"minimum": 1000000000000000, "maximum": 2e2}"#)
        #expect(short.violation("999999999999999.9") == ": minimum")
        let least = try SchemaUnderTest(#"{"minimum": 100000000000000}"#)
        #expect(least.violation("100000000000000") == nil && least.violation("100000000000000000") == nil)
        #expect(least.violation("99999999999999.99999") == ": minimum")
        #expect(least.violation("-100000000000000000") == ": minimum")
        let zero = try SchemaUnderTest(#"{"minimum": 0, "maximum": 999999999999999}"#)
        #expect(zero.violation("0") == nil && zero.violation("999999999999999") == nil && zero.violation("-0.0") == nil)
        #expect(zero.violation("-1") == ": minimum" && zero.violation("999999999999999.5") == ": maximum")
        #expect(zero.violation("999999999999999999") == ": maximum" && zero.violation("1e3") == nil)
        #expect(schema.violation("-1e-400") == nil)
        #expect(schema.violation("-0.10000000000000000000001") == ": minimum")
        #expect(schema.violation("0.7e1") == ": not")
        #expect(try SchemaUnderTest(#"{"multipleOf": 0.01}"#).violation("1e999999999999999999999") == nil)
        #expect(try SchemaUnderTest(#"{"multipleOf": 0.03}"#).violation("4.35") == nil)
        #expect(try SchemaUnderTest(#"{"multipleOf": 0.03}"#).violation("4.351") == ": multipleOf")
        #expect(try SchemaUnderTest(#"{"type": "integer"}"#).violation("12.0e1") == nil)
        #expect(try SchemaUnderTest(#"{"type": "integer"}"#).violation("12.5") == ": type")
    }

    @Test func aValueThatTakesTooManyStepsViolates() throws {
        let schema = try SchemaUnderTest(#"{"uniqueItems": true}"#)
        let items = (0..<2000).map(String.init).joined(separator: ",")
        #expect(schema.violation("[\(items)]") == ": steps")
        #expect(try SchemaUnderTest(#"{"not": {"uniqueItems": true}}"#).violation("[\(items)]") == ": steps")
    }

    @Test func aValueThatIsNestedTooDeepViolates() throws {
        let schema = try SchemaUnderTest(##"{"items": {"$ref": "#"}}"##)
        let deep = String(repeating: "[", count: 300) + String(repeating: "]", count: 300)
        #expect(schema.violation(deep)?.hasSuffix("depth") == true)
        #expect(try SchemaUnderTest(##"{"$ref": "#"}"##).violation("1") == ": depth")
        #expect(try SchemaUnderTest(##"{"anyOf": [{"$ref": "#"}, true]}"##).violation("1") == ": depth")
    }

    @Test func formatIsAnAnnotation() throws {
        #expect(try SchemaUnderTest(#"{"format": "email"}"#).violation(#""no address""#) == nil)
    }

    @Test func membersThatNoKeywordLookedAtAreRefused() throws {
        let schema = try SchemaUnderTest(
            #"{"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": true}}], "unevaluatedProperties": false}"#)
        #expect(schema.violation(#"{"a": "x", "b": 1}"#) == nil)
        #expect(schema.violation(#"{"a": 1, "b": 1}"#) == "/a: unevaluatedProperties")
    }
}

struct CompilerTests {
    private func fault(_ schema: String) -> String? {
        do {
            _ = try SchemaUnderTest(schema)
            return nil
        } catch let fault as SchemaFault {
            return "\(fault.offset): \(fault.message)"
        } catch {
            return "\(error)"
        }
    }

    @Test func aBrokenKeywordIsAFaultAtItsPlace() {
        #expect(
            fault(#"{"type": "strng"}"#)
                == "9: type must be one of null, boolean, object, array, number, string or integer")
        #expect(fault(#"{"minLength": -1}"#) == "14: minLength must be an integer of at least 0")
        #expect(fault(#"{"properties": {"a": 1}}"#) == "21: must be a schema: an object, true or false, is a number")
        #expect(fault(#"{"pattern": "a("}"#)?.hasPrefix("12: RE2 cannot read") == true)
        #expect(fault(#"{"multipleOf": 0}"#) == "15: multipleOf must be above 0 and have at most 18 digits")
    }

    @Test func aReferenceToAnotherDocumentIsAFault() {
        #expect(
            fault(#"{"$ref": "other.json"}"#)
                == "9: the reference 'other.json' leads nowhere: expected one to this document, such as \"#/$defs/name\"")
        #expect(fault(##"{"$ref": "#/$defs/a", "$defs": {"b": true}}"##) != nil)
        #expect(fault(##"{"$ref": "#/$defs/b", "$defs": {"b": true}}"##) == nil)
    }

    @Test func theMetaschemaIsKnown() throws {
        let schema = try SchemaUnderTest(#"{"$ref": "https://json-schema.org/draft/2020-12/schema"}"#)
        #expect(schema.violation(#"{"type": "object", "minLength": 2}"#) == nil)
        #expect(schema.violation(#"{"properties": {"a": {"minLength": -2}}}"#) == "/properties/a/minLength: minimum")
    }
}
