// Settings of modules that are expressions, and settings of one of several types.

import Testing

@testable import Configuration
@testable import Document
@testable import Plans

/// A module with such settings.
private struct Speaker: ModuleCatalog {
    static let text = #"""
        {"name":"speaker","version":"1","settings":{"type":"object","properties":{
          "say":{"type":"string","format":"expression"},
          "when":{"type":"string","format":"condition"},
          "heard":{"type":"string","format":"condition","names":{"status":"integer","headers":"texts","body":"any","name":"text","all":"opaque"}},
          "form":{"anyOf":[{"type":"string","enum":["loud","low"],"default":"low"},{"type":"integer","minimum":1},
            {"type":"object","properties":{"each":{"type":"string","format":"expression"},"most":{"type":"string","format":"size"}},
             "additionalProperties":false}]},
          "constants":{"type":"object","additionalProperties":{"type":"string"}}},"additionalProperties":false}}
        """#

    var names: [String] { ["speaker"] }
    func description(of module: String) throws(ModuleFault) -> ModuleDescription? { try ModuleDescription.read(json: Speaker.text) }
}

private func settings(_ given: String) -> String {
    do throws(ConfigurationFaults) {
        let plan = try RoutesFile(environment: { environment[$0] }, contents: files, catalog: Speaker()).read(
            Array(file(provider: "\"plugin\":\"speaker\",\(given)").utf8), file: "routes.json")
        return settings(plan)
    } catch {
        return error.faults.map(\.message).joined(separator: "; ")
    }
}

@Suite("Settings that are expressions, or of several types")
struct ExpressionSettingTests {
    @Test("an expression reaches the module as it is written")
    func passed() {
        #expect(settings(#""say":"event + 'x'","when":"n > 1""#) == #"{"say":"event + 'x'","when":"n > 1","form":"low"}"#)
    }

    @Test(
        "an expression that can never work is a fault with its column",
        arguments: [
            (#""say":"event +""#, "providers.out.say: "),
            (#""when":"1 + 1""#, "providers.out.when: a condition is true or false, but this gives int"),
            (#""heard":"statu == 1""#, "providers.out.heard: nothing is called 'statu'"),
            (#""heard":"status == 'x'""#, "providers.out.heard: int is never equal to string"),
            (#""heard":"now > now""#, "providers.out.heard: nothing is called 'now'"),
            (#""heard":"size(all) > 1""#, "providers.out.heard: expected size(string)"),
            (#""heard":"headers.x + 1 == 2""#, "providers.out.heard: + does not take string and int"),
            (#""say":"source""#, "providers.out.say: the source of an event is not known when it is handed over"),
            (
                #""say":"'${env:SECRET}'""#,
                "providers.out.say: an expression must be written out, without ${env:} and ${file:}; write the value into 'constants'"
            ),
            (#""say":7"#, "providers.out.say must be an expression in CEL, as a string, is 7"),
            (#""form":{"each":"x("}"#, "providers.out.form.each: "),
        ])
    func faulty(given: String, expected: String) {
        #expect(settings(given).hasPrefix(expected), "\(settings(given))")
    }

    @Test("the column of a fault is its place inside the string")
    func column() {
        do throws(ConfigurationFaults) {
            _ = try RoutesFile(environment: { environment[$0] }, contents: files, catalog: Speaker()).read(
                Array(
                    "{\"providers\":{\"out\":{\"plugin\":\"speaker\",\n\"say\":\"1 + nothing(2)\"}},\"routes\":[{\"to\":[\"out\"]}]}".utf8),
                file: "routes.json")
            Issue.record("the expression is wrong")
        } catch {
            #expect(error.faults.map { [$0.line, $0.column] } == [[2, 12]])
        }
    }

    @Test("constants are names of texts that may come from the environment, and are known to every expression of the provider")
    func constants() {
        let given = #""constants":{"key":"${env:SECRET}"},"say":"constants.key","heard":"body == constants.key""#
        #expect(settings(given).contains(#""say":"constants.key""#))
        #expect(
            settings(#""constants":{"token":"x"},"say":"constants.tokn""#)
                == "providers.out.say: there is no constant 'tokn', did you mean token?")
        #expect(
            settings(#""say":"constants.key""#) == "providers.out.say: there is no constant 'key'; add it to 'constants' of the provider")
        #expect(settings(#""constants":{"key":"x"},"say":"constants.key.part""#).contains("has no member 'part'"))
    }

    @Test("a value of several types is checked by the alternative of its type")
    func either() {
        #expect(settings(#""form":"loud""#) == #"{"form":"loud"}"#)
        #expect(settings(#""form":3"#) == #"{"form":3}"#)
        #expect(settings(#""form":{"each":"n","most":"1MB"}"#) == #"{"form":{"each":"n","most":1000000}}"#)
        #expect(settings(#""form":"lowd""#) == #"providers.out.form must be "loud" or "low", is "lowd", did you mean "loud"?"#)
        #expect(settings(#""form":0"#) == "providers.out.form must be at least 1, is 0")
        #expect(settings(#""form":[]"#) == #"providers.out.form must be "loud", "low", a number or an object, is a list"#)
        #expect(settings(#""form":{"eech":"n"}"#).contains("unknown key 'eech'"))
    }

    @Test(
        "a schema of several types needs alternatives of different types, and names need an expression",
        arguments: [
            (#"{"anyOf":[{"type":"string"},{"type":"string"}]}"#, "the alternatives of 'anyOf' must have different types"),
            (#"{"anyOf":[{"type":"string"}]}"#, "anyOf"),
            (#"{"anyOf":[{"type":"string"},{"anyOf":[{"type":"boolean"},{"type":"integer"}]}]}"#, "must have different types"),
            (#"{"type":"string","names":{"a":"any"}}"#, "'names' is only for the formats expression and condition"),
            (#"{"type":"string","format":"condition","names":{"a":"dyn"}}"#, "names"),
            (#"{"type":"string","format":"condition","default":"1 +"}"#, "default"),
        ])
    func schemas(schema: String, expected: String) {
        do throws(ModuleFault) {
            _ = try ModuleDescription.read(
                json: #"{"name":"a","version":"1","settings":{"type":"object","properties":{"k":\#(schema)}}}"#)
            Issue.record("it was accepted")
        } catch {
            #expect("\(error)".contains(expected), "\(error)")
        }
    }

    @Test("the JSON Schema has the alternatives and the default")
    func jsonSchema() throws {
        let schema = RoutesFile.schema(for: [try ModuleDescription.read(json: Speaker.text)])
        #expect(schema.contains(#""form":{"anyOf":[{"#))
        #expect(schema.contains(#"],"default":"low""#))
        #expect(schema.contains(#""say":{"type":"string","minLength":1,"maxLength":32768"#))
    }
}
