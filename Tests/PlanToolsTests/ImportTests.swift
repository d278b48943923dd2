// Plans of other makers: what becomes of them, and what is named as lost.

import Testing
import TrackingPlans

@testable import PlanTools

@Suite("Plans of other makers") struct ImportTests {
    private static func plan(_ text: String) throws -> (json: String, notes: [String]) {
        let plan = try PlanImport.plan(Array(text.utf8))
        _ = try PlanFile.read(Array(plan.json.utf8)).get()
        return plan
    }

    @Test("a plan of Segment Protocols gives events, schemas and versions")
    func segment() throws {
        let plan = try Self.plan(
            #"""
            {"name":"workspaces/w/tracking-plans/rs_1","display_name":"Shop","rules":{"events":[
              {"name":"Order Completed","description":"Paid.","version":1,"rules":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
                "properties":{"context":{},"traits":{},"properties":{"type":"object","required":["total"],
                  "properties":{"total":{"type":["number"],"id":"/properties/properties/properties/total"}}}},"required":["properties","userId"]}},
              {"name":"Order Completed","version":2,"rules":{"properties":{"properties":{"properties":{"cents":{"type":"integer"}}}}}}],
              "global":{"properties":{"context":{"properties":{}}}},"identify":{"properties":{"traits":{"properties":{"plan":{"type":"string"}}}}}}}
            """#)
        #expect(
            plan.json
                == #"{"events":{"Order Completed":{"properties":{"properties":{"cents":{"type":"integer"}}},"versions":{"#
                + #""1":{"traits":{},"properties":{"type":"object","required":["total"],"properties":{"total":{"type":"number"}}}},"#
                + #""2":{"properties":{"properties":{"cents":{"type":"integer"}}}}}},"#
                + #""identify":{"traits":{"properties":{"plan":{"type":"string"}}}}}}"#, "\(plan.json)")
        #expect(
            plan.notes == [
                "global is not carried over",
                "Order Completed: the last version is also that of events without a version, and gives the description and require",
            ])
    }

    @Test("rules of Segment's public API have a key and a type")
    func publicAPI() throws {
        let plan = try Self.plan(
            #"{"data":{"rules":[{"key":"A","type":"TRACK","version":1,"jsonSchema":{"properties":{"properties":{"required":["x"]}},"required":["userId"]}},"#
                + #"{"type":"IDENTIFY","version":1,"jsonSchema":{"properties":{"traits":{"required":["y"]},"context":{"required":["ip"]}}}}]}}"#
        )
        #expect(
            plan.json
                == #"{"events":{"A":{"require":["userId"],"properties":{"required":["x"]}},"identify":{"traits":{"required":["y"]}}}}"#)
        #expect(
            plan.notes == [
                "identify: the schema of context is not carried over", "A: it has one version, 1, which is not carried over",
                "identify: it has one version, 1, which is not carried over",
            ])
    }

    @Test("a plan of RudderStack lists members with types")
    func rudder() throws {
        let plan = try Self.plan(
            #"""
            {"name":"p","version":3,"events":[
              {"name":"Viewed","description":"d","eventType":"track","additionalProperties":false,"identitySection":"",
               "properties":[{"name":"sku","type":"string","required":true,"id":"1"},{"name":"n","type":["number","null"]},{"name":"x","type":"any"}]},
              {"name":"","eventType":"identify","identitySection":"traits","properties":[{"name":"email","type":"string","required":true}]},
              {"name":"","eventType":"page","identitySection":"context.traits","properties":[{"name":"a"}]},{"name":"","eventType":"track"}]}
            """#)
        #expect(
            plan.json
                == #"{"events":{"Viewed":{"description":"d","properties":{"type":"object","required":["sku"],"properties":{"sku":{"type":"string"},"#
                + #""n":{"type":["number","null"]},"x":{}},"additionalProperties":false}},"identify":{"traits":{"type":"object","#
                + #""required":["email"],"properties":{"email":{"type":"string"}}}},"page":{}}}"#, "\(plan.json)")
        #expect(plan.notes == ["page: the members of context.traits are not carried over", "an event without a name is left out"])
    }

    @Test("an export of Avo has a schema for each event, and Snowplow one for each file")
    func others() throws {
        let avo = try Self.plan(
            #"{"events":[{"name":"A","rules":{"type":"object","properties":{"properties":{"type":"object","properties":{"n":{"type":"integer"}}}}}}]}"#
        )
        #expect(avo.json == #"{"events":{"A":{"properties":{"type":"object","properties":{"n":{"type":"integer"}}}}}}"# && avo.notes == [])
        let snowplow = try Self.plan(
            #"{"$schema":"http://iglucentral.com/schemas/com.snowplowanalytics.self-desc/schema/jsonschema/1-0-0#","description":"A click","#
                + #""self":{"vendor":"com.acme","name":"click","format":"jsonschema","version":"1-0-0"},"type":"object","#
                + #""properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}"#)
        #expect(
            snowplow.json
                == #"{"events":{"click":{"description":"A click","properties":{"description":"A click","type":"object","#
                + #""properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}}}}"#)
        #expect(snowplow.notes == ["click: it has one version, 1-0-0, which is not carried over"])
    }

    @Test("schemas of older drafts are converted, and what cannot be is named with its place")
    func drafts() throws {
        let plan = try Self.plan(
            ##"""
            {"self":{"name":"e"},"definitions":{"m":{"type":"integer","minimum":1,"exclusiveMinimum":true},"r":{"properties":{"r":{"$ref":"#/definitions/r"}}}},
             "properties":{"a":{"$ref":"#/definitions/m"},"b":{"items":[{"type":"string"}],"additionalItems":false},"c":{"pattern":"(?=x)"},
              "d":{"type":["string","money"]},"f":{"$ref":"other.json"},"r":{"$ref":"#/definitions/r"},"g":{"extends":{}},"h":{"required":true}},
             "dependencies":{"a":["b"]}}
            """##)
        #expect(
            plan.json
                == #"{"events":{"e":{"properties":{"properties":{"a":{"type":"integer","minimum":1,"exclusiveMinimum":1},"#
                + #""b":{"prefixItems":[{"type":"string"}],"items":false},"c":{},"d":{},"f":{},"r":{"properties":{"r":{}}},"g":{},"h":{}},"#
                + #""dependentRequired":{"a":["b"]}}}}}"#, "\(plan.json)")
        #expect(
            plan.notes == [
                #"e: properties.c: the pattern "(?=x)", which RE2 does not take, is not carried over"#,
                "e: properties.d: the type money is not carried over", "e: properties.f: the reference other.json is not carried over",
                "e: properties.r.r: the reference #/definitions/r is not carried over",
                "e: properties.g: the keyword extends is not carried over",
            ])
    }

    @Test(
        "a file of another form is refused", arguments: ["{}", "[]", #"{"events":{}}"#, #"{"events":[]}"#, "{broken", "{\"a\":1,\"a\":1}"])
    func refused(text: String) { #expect(throws: PlanImport.Failure.self) { try PlanImport.plan(Array(text.utf8)) } }
}
