// The plans that valid files give.

import Editing
import Events
import Expressions
import Foundation
import TestSupport
import Testing

@testable import Configuration
@testable import Document
@testable import FormReading
@testable import Plans

@Suite("Plans of routes.json")
struct PlanTests {
    @Test("the smallest file sends standard input to one provider, with every default")
    func smallest() throws {
        let plan = try read(#"{ "providers": { "out": { "plugin": "console" } }, "routes": [ { "to": ["out"] } ] }"#)
        #expect(plan.sources == [SourcePlan(name: "stdin", plugin: "stdin")])
        #expect(plan.limits.line == 16_000_000 && plan.limits.depth == 512)
        #expect(plan.consent == nil && plan.keys.isEmpty)
        #expect(plan.providers.map(\.name) == ["out"] && plan.providers[0].plugin == "console")
        #expect(settings(plan) == #"{"stream":"stdout"}"#)
        #expect(plan.routes.map(\.name) == ["routes[0]"] && plan.routes[0].providers == [0])
        let route = plan.routes[0]
        #expect(route.events.isEmpty && route.match.isEmpty && route.consent == nil && route.sample == nil && route.transforms.isEmpty)
        let delivery = plan.providers[0].delivery
        #expect(delivery.batch.events == 500 && delivery.batch.bytes == 1_000_000 && delivery.batch.wait == nil)
        #expect(delivery.queue.memory == 4_000_000 && delivery.queue.full == .block)
        #expect(
            delivery.retry.first == .milliseconds(500) && delivery.retry.most == .seconds(60) && delivery.retry.total == .seconds(86_400))
        #expect(delivery.immediate.isEmpty && !delivery.ordered)
    }

    @Test("a provider has the filter and the transform that are written, and its lane leaves the module's limit to them")
    func shape() throws {
        let plan = try read(
            #"{"keys":{"ids":"0123456789abcdef"},"providers":{"out":{"plugin":"probe","filter":{"events":"a*","match":{"m":1},"not":{"events":["ab"]},"#
                + #""where":"n > 1"},"transform":[{"drop":["x"]},{"hash":{"fields":["u"],"key":"ids"}}]},"plain":{"plugin":"probe"}},"#
                + #""routes":[{"to":["out","plain"]}]}"#)
        let shape = plan.providers[0].shape
        #expect(shape.events.map(\.pattern) == ["a*"] && shape.match.map(\.path.description) == ["m"])
        #expect(shape.not.events.map(\.pattern) == ["ab"] && shape.condition?.text == "n > 1" && shape.transforms.count == 2)
        #expect(shape.isFiltering && !shape.isEmpty && plan.providers[1].shape.isEmpty)
        #expect(plan.providers.map(\.delivery.batch.largest) == [50_000, 50_000])
        #expect(plan.providers.map(\.laneDelivery.batch.largest) == [nil, 50_000])
    }

    @Test("the map of consent keeps its order, and has no basis if none is given")
    func consentMap() throws {
        let map =
            #"{"tcf":{"y":{"purposes":[8,1],"vendor":755,"basis":["legitimate_interest"]},"x":{"purposes":[2]}},"#
            + #""gpp":{"x":["sharing","sale"]},"google":{"y":["ad_user_data"]},"categories":{"x":["C0004","Ads"]},"members":{"y":{"context.att":["authorized",true]}}}"#
        let plan = try read(file(#""consent":{"levels":{"a":["x","y"]},"default":"a","map":\#(map)}"#))
        var expected = ConsentMapPlan()
        var (first, second, optOuts, signals) = (ConsentMeaning(), ConsentMeaning(), ConsentMeaning(), ConsentMeaning())
        first.settings = ["purposes": .numbers([8, 1]), "vendor": .numbers([755]), "basis": .words(["legitimate_interest"])]
        second.settings = ["purposes": .numbers([2])]
        optOuts.words = ["sharing", "sale"]
        signals.words = ["ad_user_data"]
        expected["tcf"] = [.init("y", first), .init("x", second)]
        expected["gpp"] = [.init("x", optOuts)]
        expected["google"] = [.init("y", signals)]
        expected.categories = [.init("x", ["C0004", "Ads"])]
        expected.members = [.init("y", [MatchPlan(path: Path(keys: ["context", "att"]), anyOf: [.string("authorized"), .bool(true)])])]
        #expect(plan.consent?.map == expected)
        #expect(try read(file(#""consent":{"levels":{"a":["x"]},"default":"a"}"#)).consent?.map == ConsentMapPlan())
    }

    @Test("a ledger uses the key that is named, alone or with previous keys")
    func ledger() throws {
        func consent(_ members: String) throws -> ConsentPlan? {
            try read(
                file(
                    #""keys":{"a":"0123456789abcdef","b":"0123456789abcdeg","c":"0123456789abcdeh"},"#
                        + #""consent":{"levels":["all"],"default":"all"\#(members)}"#)
            ).consent
        }
        #expect(try consent(#","ledger":"b""#)?.ledger == LedgerPlan(key: 1))
        #expect(try consent(#","ledger":{"key":"c","previous":["b","a"]}"#)?.ledger == LedgerPlan(key: 2, previous: [1, 0]))
        #expect(try consent(#","minimum_version":"2026-01""#)?.minimumVersion == "2026-01")
        let plain = try consent("")
        #expect(plain?.ledger == nil && plain?.minimumVersion == nil)
    }

    @Test("every key of the full file is read")
    func full() throws {
        let plan = try read(good)
        #expect(plan.keys.map(\.name) == ["ids", "other"])
        #expect(plan.keys.allSatisfy { $0.secret.bytes == Array(secret.utf8) })
        #expect(plan.limits.line == 1 << 20 && plan.limits.depth == 64)
        #expect(plan.sources == [SourcePlan(name: "input", plugin: "stdin")])
        let consent = try #require(plan.consent)
        #expect(consent.subject == [Path(keys: ["userId"]), Path(keys: ["anonymousId"])])
        #expect(consent.levels.map(\.name) == ["none", "essential", "standard"])
        #expect(consent.levels.map(\.purposes) == [[], ["operations"], ["operations", "analytics"]])
        #expect(consent.unknown == .assume(1) && consent.gpc == ["analytics"])
        #expect(consent.fields.map(\.path) == [Path(keys: ["traits", "role"]), Path(keys: ["properties", "a.b"])])
        #expect(consent.fields.map(\.level) == [2, 2])
        #expect(consent.events.map(\.glob.pattern) == ["search_*"] && consent.events.map(\.level) == [2])
        #expect(plan.routes.map(\.name) == ["errors", "routes[1]"])
        #expect(plan.routes[0].events == [Glob("error_*")] && plan.routes[0].providers == [0, 1])
        #expect(plan.routes[0].consent == ConsentDemand(level: 0))
        #expect(plan.routes[1].consent == ConsentDemand(level: 1, purposes: ["analytics"]))
        #expect(plan.routes[1].match.map(\.path) == [Path(keys: ["type"]), Path(keys: ["properties", "n"])])
        #expect(plan.routes[1].match[1].anyOf == [.number("1"), .number("1.0"), .bool(true), .null, .string("é")])
        let sample = try #require(plan.routes[1].sample)
        #expect(sample.rate == 0.25 && sample.by == Path(keys: ["anonymousId"]) && sample.keep == [Glob("error_*")])
        let delivery = plan.providers[1].delivery
        #expect(delivery.batch.events == 50 && delivery.batch.bytes == 10_000 && delivery.batch.wait == .milliseconds(250))
        #expect(delivery.queue.memory == 16_000_000 && delivery.queue.full == .dropOldest)
        #expect(delivery.retry.first == .milliseconds(100) && delivery.retry.most == .seconds(10) && delivery.retry.total == .seconds(3600))
        #expect(delivery.immediate == [Glob("error_*")] && !delivery.ordered)
    }

    @Test("settings reach the module in its units, with its defaults, as one object")
    func settingsOfModules() throws {
        let plan = try read(good)
        #expect(
            settings(plan, 0)
                == #"{"path":"var/out-%Y.ndjson","rotate":{"bytes":100000000,"age":5400000,"keep":7,"compression":"none"},"mode":"0640","sync":"never","utc":false}"#
        )
        #expect(
            settings(plan, 1)
                == #"{"whole":3,"size":1048576,"pause":1500,"tags":["a","b"],"headers":{"Authorization":"Bearer \#(secret)"}}"#)
        #expect(!"\(plan.providers)".contains(secret) && !"\(plan.keys)".contains(secret))
    }

    private func constants(_ step: SetStep) -> [String] {
        step.members.compactMap { member in if case .json(let json) = member.value { json } else { nil } }
    }

    @Test("transforms keep their order, and constants their bytes")
    func transforms() throws {
        let steps = try read(good).routes[1].transforms
        guard steps.count == 3, let drop = steps[0] as? DropStep, let hash = steps[1] as? HashStep, let set = steps[2] as? SetStep else {
            Issue.record("the steps are \(steps)")
            return
        }
        #expect(drop.paths == [Path(keys: ["context", "ip"]), Path(keys: ["traits", "a.b", "c"])])
        #expect(hash.paths == [Path(keys: ["userId"])] && hash.key == 0)
        #expect(set.paths == [Path(keys: ["context", "by"])])
        #expect(constants(set) == [#"{"n":[1.0,123456789012345678901234567890,-0,1E400],"s":"${x} out é"}"#])
    }

    @Test(
        "a constant without placeholders stays as it was written, except for the spaces between its tokens",
        arguments: [
            (#"9007199254740993"#, #"9007199254740993"#),
            (#"0.30000000000000004"#, #"0.30000000000000004"#),
            (#"1e0"#, #"1e0"#),
            (#""\u00e9\/""#, #""\u00e9\/""#),
            ("{ \"b\" : [ 1 ,\n 2 ] , \"\\u0061\" : null }", #"{"b":[1,2],"\u0061":null}"#),
            (#""\u0000""#, #""\u0000""#),
            (#""a$b $$ ${"#.replacing("${", with: "$x\""), #""a$b $$ $x""#),
            (#""$${env:SECRET}""#, #""${env:SECRET}""#),
            (#""$$${env:OUT}""#, #""$${env:OUT}""#),
            (#""${env:OUT}\n${env:OUT}""#, #""out\nout""#),
            (#""${file:two-lines}""#, #""a\n""#),
            (#""${env:EMPTY}""#, #""""#),
        ])
    func constants(written: String, json: String) throws {
        let plan = try read(file(route: "\"transform\":[{\"set\":{\"a\":\(written)}}]"))
        guard let set = plan.routes[0].transforms[0] as? SetStep else {
            Issue.record("it is not a set")
            return
        }
        #expect(constants(set) == [json])
    }

    @Test("events of unknown subjects are held within bounds that have defaults, all of them or by a member")
    func holding() throws {
        let ids = #""keys":{"ids":"0123456789abcdef"},"consent":{"levels":["none","all"],"default":"all","ledger":"ids","#
        let plain = try #require(try read(file(ids + #""unknown":"hold"}"#)).consent)
        #expect(plain.unknown == .hold && plain.isHolding && plain.hold == HoldPlan())
        let bounded = try read(file(ids + #""unknown":"hold","hold":{"for":"2h","events":5,"subject":{"bytes":"3KB"}}}"#)).consent
        #expect(bounded?.hold.time == .seconds(7200) && bounded?.hold.total == .init(events: 5, bytes: 100_000_000))
        #expect(bounded?.hold.subject == .init(events: 1000, bytes: 3000))
        let regional = try read(file(ids + #""unknown":{"by":"region","is":{"DE":"hold"},"else":"deny"}}"#)).consent
        #expect(regional?.isHolding == true && regional?.unknown == .deny)
    }

    @Test("the list form of levels has no purposes")
    func bareLevels() throws {
        let plan = try read(file(#""consent":{"levels":["none","some","all"],"default":"some"}"#))
        #expect(plan.consent?.levels.map(\.name) == ["none", "some", "all"])
        #expect(plan.consent?.levels.allSatisfy { $0.purposes == nil } == true)
        #expect(plan.consent?.unknown == .deny && plan.consent?.gpc == nil)
        #expect(plan.consent?.hold == HoldPlan())
        #expect(plan.consent?.subject == [Path(keys: ["userId"]), Path(keys: ["anonymousId"])])
        #expect(plan.routes[0].consent == ConsentDemand(level: 1))
    }

    @Test("a demand of purposes alone has the lowest level")
    func purposesAlone() throws {
        let plan = try read(file(#""consent":{"levels":{"a":[],"b":["x"]},"default":"a"}"#, route: #""consent":{"purposes":["x"]}"#))
        #expect(plan.routes[0].consent == ConsentDemand(level: 0, purposes: ["x"]))
    }

    @Test("sections may refer to later ones")
    func order() throws {
        let plan = try read(
            #"{"routes":[{"to":["b","a"],"consent":"x","transform":[{"hash":{"fields":["u"],"key":"k"}}]}],"providers":{"a":{"plugin":"noop"},"b":{"plugin":"noop"}},"consent":{"levels":["x"]},"keys":{"k":"0123456789abcdef"}}"#
        )
        #expect(plan.routes[0].providers == [1, 0])
    }

    @Test("defaults are lowered to the limits of the module and to the values that are written")
    func deliveryDefaults() throws {
        let probe = try read(file(provider: #""plugin":"probe""#)).providers[0].delivery
        #expect(probe.batch.events == 100 && probe.batch.bytes == 50_000)
        let archive = try read(file(provider: #""plugin":"file","path":"a""#)).providers[0].delivery
        #expect(archive.batch.bytes == 256 << 10)
        let small = try read(file(provider: #""plugin":"console","delivery":{"queue":{"memory":"100KB"}}"#)).providers[0].delivery
        #expect(small.batch.bytes == 100_000 && small.queue.memory == 100_000)
        let slow = try read(file(provider: #""plugin":"console","delivery":{"retry":{"first":"5m"}}"#)).providers[0].delivery
        #expect(slow.retry.first == .seconds(300) && slow.retry.most == .seconds(300))
        let quick = try read(file(provider: #""plugin":"console","delivery":{"retry":{"most":"100ms","for":"0s"}}"#)).providers[0].delivery
        #expect(quick.retry.first == .milliseconds(100) && quick.retry.total == .zero)
    }

    @Test("a sample keeps by a list of globs, in either form")
    func keep() throws {
        for keep in [#"["a","b_*"]"#, #"{"events":["a","b_*"]}"#] {
            let plan = try read(file(route: #""sample":{"rate":0,"keep":\#(keep)}"#))
            #expect(plan.routes[0].sample?.keep == [Glob("a"), Glob("b_*")])
            #expect(plan.routes[0].sample?.rate == 0)
        }
    }

    @Test("rates by name keep their order, and members that a sample leaves out have defaults")
    func samples() throws {
        func sample(_ members: String) throws -> SamplePlan { try #require(read(file(route: #""sample":{\#(members)}"#)).routes[0].sample) }
        let named = try sample(#""rates":{"b*":0.5,"a*":0,"*":1}"#)
        #expect(named.rates.map(\.glob.pattern) == ["b*", "a*", "*"] && named.rates.map(\.rate) == [0.5, 0, 1])
        #expect(named.rate == 1 && named.target == nil && named.limit == nil && named.annotation == nil)
        let limited = try sample(#""limit":{"rate":"30/m","burst":7},"annotate":true"#)
        #expect(limited.limit == LimitPlan(EventRate(perDay: 43_200), burst: 7) && limited.annotation == Path(keys: ["sampleRate"]))
        #expect(limited.rate == 1)
        let adaptive = try sample(#""target":"200/s","limit":"250/s","annotate":"context.r""#)
        #expect(adaptive.target == EventRate(perDay: 200 * 86_400) && adaptive.limit?.burst == 250)
        #expect(adaptive.annotation == Path(keys: ["context", "r"]))
        #expect(try sample(#""rate":0.5,"annotate":false"#).annotation == nil)
    }

    @Test("sessions are read with their defaults")
    func sessions() throws {
        let usual = try #require(read(file(route: #""session":{"by":"userId"}"#)).routes[0].session)
        #expect(usual == SessionPlan(by: Path(keys: ["userId"])))
        #expect(usual.idle == .seconds(1800) && usual.place == Path(keys: ["context", "sessionId"]) && usual.most == 100_000)
        let other = try #require(read(file(route: #""session":{"by":"u","idle":"90s","as":"s","most":5}"#)).routes[0].session)
        #expect(other.by == Path(keys: ["u"]) && other.idle == .seconds(90) && other.place == Path(keys: ["s"]) && other.most == 5)
    }

    @Test("the event of an emit rule is split into constants and expressions")
    func emits() throws {
        let properties = #"{"x":{"cel":"a"},"y\n":[ 1.0, {"cel":"b"}, {}]}"#
        let plan = try read(file(#""emit":[{"where":"a > 1","event":{"event":"b","properties":\#(properties),"n":{"cel":"c"}}}]"#))
        let emit = try #require(plan.emits.first)
        #expect(emit.condition.text == "a > 1" && emit.members.map(\.key) == ["event", "properties", "n"])
        let told = emit.members.map { member in
            member.value.map { piece in
                switch piece {
                case .json(let json): json
                case .value(let expression): "<\(expression.text)>"
                }
            }.joined()
        }
        #expect(told == [#""b""#, #"{"x":<a>,"y\n":[1.0,<b>,{}]}"#, "<c>"])
    }

    @Test("not and else are read")
    func notAndElse() throws {
        let first = #"{"events":"a","not":{"events":"b_*","match":{"type":["x",1]},"where":"n > 1"},"to":["out"]}"#
        let plan = try read(#"{"providers":{"out":{"plugin":"console"}},"routes":[\#(first),{"else":true,"to":["out"]}]}"#)
        #expect(plan.routes[0].not.events == [Glob("b_*")])
        #expect(plan.routes[0].not.condition?.text == "n > 1")
        #expect(plan.routes[0].not.match.map(\.path) == [Path(keys: ["type"])])
        #expect(plan.routes[0].not.match[0].anyOf == [.string("x"), .number("1")])
        #expect(plan.routes.map(\.takesRest) == [false, true])
    }

    @Test("the schema for editors is JSON and has every section")
    func schema() throws {
        let (root, faults) = try Outline.read(Source(Array(RoutesFile.schema(for: []).utf8)), resolving: nil)
        #expect(faults.isEmpty)
        #expect(
            root["properties"]?.entries?.map(\.key.name) == [
                "$schema", "version", "keys", "limits", "message_id", "state", "audit", "shutdown", "admin", "sources", "consent",
                "providers",
                "emit", "plan",
                "routes", "lint",
            ])
        #expect(root["required"]?.items?.compactMap(\.text?.value) == ["providers", "routes"])
        let rate = root["properties"]?["routes"]?["items"]?["properties"]?["sample"]?["properties"]?["rate"]
        #expect(rate?["maximum"].map(Reading.shown) == "1")
    }

    @Test("the routes.json at the top of the project is valid, and its key is there")
    func sample() throws {
        let top = URL(filePath: Project.root)
        let text = try Data(contentsOf: top.appending(path: "routes.json"))
        let sample = RoutesFile(
            environment: { _ in nil },
            contents: { path in
                (try? Data(contentsOf: top.appending(path: path))).map { .success(Array($0)) } ?? .failure(PlaceholderFault("not there"))
            },
            catalog: Modules())
        let plan = try sample.read(Array(text), file: "routes.json")
        #expect(plan.providers.map(\.name) == ["screen", "archive"])
        #expect(plan.routes.map(\.name) == ["errors", "product", "half of the users"])
        #expect(plan.routes.map(\.consent?.level) == [1, 2, 2])
    }
}
