// The defaults of sources, and the exact message for each fault.

import Testing

@testable import Configuration
@testable import Document
@testable import FormReading
@testable import Plans

@Suite("HTTP sources")
struct SourceTests {
    /// Reads only the section `sources`.
    private func read(_ json: String) throws -> (plans: [SourcePlan]?, faults: [String]) {
        let source = Source(Array(json.utf8))
        let placeholders = Placeholders(environment: { environment[$0] }, contents: files)
        let (root, found) = try Outline.read(source, resolving: placeholders)
        let reading = PlanReading(source, file: "routes.json", catalog: Modules(), faults: found)
        let plans = SourceForms.sources.read(root, reading)
        return (plans, reading.faults.map { "\(source.place(of: $0.offset).column): \($0.message)" })
    }

    private func http(_ json: String) throws -> HTTPSourcePlan {
        let (plans, faults) = try read("{\"web\":{\"plugin\":\"http\"\(json.isEmpty ? "" : ",")\(json)}}")
        #expect(faults == [])
        return try #require(plans?.first?.http)
    }

    private func fault(_ json: String) throws -> [String] { try read("{\"web\":{\"plugin\":\"http\",\(json)}}").faults }

    @Test("the smallest HTTP source listens on loopback with every default")
    func defaults() throws {
        #expect(try http("") == HTTPSourcePlan())
        #expect(try http("").listen.description == "127.0.0.1:8088")
        let limits = HTTPLimits()
        #expect(limits.body == 20_000_000 && limits.decoded == 20_000_000 && limits.headTime == .seconds(10))
    }

    @Test("one address may have a tenth of the connections where others can reach the listener, and all of them elsewhere")
    func addresses() throws {
        #expect(try http(#""listen":"0.0.0.0:1","open":true"#).limits.connectionsByAddress == 1000)
        #expect(try http(#""listen":"0.0.0.0:1","open":true,"limits":{"connections":5}"#).limits.connectionsByAddress == 1)
        #expect(try http(#""listen":"0.0.0.0:1","open":true,"limits":{"by_address":7}"#).limits.connectionsByAddress == 7)
        #expect(try http(#""listen":"[::1]:1""#).limits.connectionsByAddress == 0)
        #expect(try http(#""listen":"unix:/run/x.sock""#).limits.connectionsByAddress == 0)
    }

    @Test("every member of an HTTP source is read")
    func full() throws {
        let plan = try http(
            #"""
            "listen":"unix:/run/x.sock","mode":"0660","owner":"root:adm","tls":{"certificate":"/c","key":"/k","clients":"/a"},
            "keys":{"web":{"secret":["${env:SECRET}","${file:key}"],"dialects":["native"],"routes":["r"]},"app":{"secret":"${env:SECRET}"}},
            "origins":["https://app.example:8443","*"],"limits":{"body":"1MB","decoded":"2MB","events":5,"idle":"1m","by_address":3},
            "dialects":["otlp","segment"],"ip":true,"received_at":true
            """#)
        #expect(plan.listen == .unix(path: "/run/x.sock") && plan.mode == 0o660 && plan.owner == "root:adm")
        #expect(plan.tls?.clients == "/a" && plan.origins == ["https://app.example:8443", "*"])
        #expect(plan.keys.map(\.name) == ["web", "app"])
        #expect(plan.keys[0].secrets == [Array(secret.utf8), Array(secret.utf8)] && plan.keys[0].dialects == ["native"])
        #expect(plan.keys[1].dialects == nil && plan.keys[0].routes == ["r"] && plan.keys[1].routes == nil)
        #expect(plan.limits.body == 1_000_000 && plan.limits.events == 5 && plan.limits.idle == .seconds(60))
        #expect(plan.dialects == ["otlp", "segment"] && plan.addsIP && plan.addsReceivedAt)
        #expect(!"\(plan.keys)".contains("s3cr3t"))
    }

    @Test("a source of files is read with its defaults, together with others")
    func filePaths() throws {
        let (plans, faults) = try read(
            #"{"in":{"plugin":"stdin"},"a":{"plugin":"file","paths":["var/*.ndjson"]},"b":{"plugin":"file","paths":["b"],"drain":true,"idle":"1m","poll":"5s"}}"#
        )
        #expect(faults == [])
        var a = FileSourcePlan()
        a.paths = ["var/*.ndjson"]
        #expect(plans?[1].file == a && !a.drains && a.idle == .seconds(10) && a.poll == .seconds(30))
        #expect(plans?[2].file?.drains == true && plans?[2].file?.idle == .seconds(60) && plans?[2].file?.poll == .seconds(5))
    }

    @Test("an address that others can reach needs keys, client certificates or open")
    func exposure() throws {
        #expect(
            try fault(#""listen":"0.0.0.0:80""#) == [
                #"34: web.listen: '0.0.0.0:80' can be reached over the network, expected 'keys', 'tls.clients' or "open": true"#
            ])
        for more in [
            #""open":true"#, #""keys":{"a":{"secret":"${env:SECRET}"}}"#, #""tls":{"certificate":"/c","key":"/k","clients":"/a"}"#,
        ] { #expect(try fault("\"listen\":\"0.0.0.0:80\",\(more)") == []) }
        #expect(try fault(#""listen":"0.0.0.0:80","open":false,"tls":{"certificate":"/c","key":"/k"}"#).count == 1)
        #expect(
            try fault(#""open":true,"keys":{"a":{"secret":"${env:SECRET}"}}"#)
                == ["32: web.open: with 'keys' every client needs a key, expected only one of the two"])
    }

    @Test(
        "each fault has its message",
        arguments: [
            (
                #""listen":"example.com:80""#,
                #"34: web.listen must be an address such as "127.0.0.1:8088", "[::1]:8088", "unix:/run/switchyard.sock" or "systemd", is "example.com:80""#
            ),
            (#""mode":"0660""#, #"32: web.mode: applies only to a Unix socket, expected "listen": "unix:/PATH""#),
            (#""listen":"unix:/x","mode":"660""#, #"51: web.mode must be permissions such as "0660", is "660""#),
            (#""owner":"root""#, #"33: web.owner: applies only to a Unix socket, expected "listen": "unix:/PATH""#),
            (#""tls":{"certificate":"/c"}"#, "31: web.tls: lacks 'key': the private key of the certificate, which no other user may read"),
            (
                #""keys":{"a":{"secret":"written-in-the-file-1"}}"#,
                "47: web.keys.a.secret must come from ${env:NAME} or ${file:PATH}: everyone who reads this file could read the key"
            ),
            (
                #""keys":{"a":{"secret":"${env:SHORT}"}}"#,
                "47: web.keys.a.secret must have at least 16 bytes, the value of ${env:SHORT} is shorter"
            ),
            (#""keys":{"a":{"secret":1}}"#, "47: web.keys.a.secret must be ${env:NAME} or ${file:PATH}, is a number"),
            (
                #""keys":{"a":{"secret":"${env:SECRET}","limit":"1/s"}}"#,
                "63: web.keys.a: unknown key 'limit', expected secret, dialects, routes or consent"
            ),
            (
                #""keys":{"a":{"secret":"${env:SECRET}","dialects":["nativ"]}}"#,
                #"75: web.keys.a.dialects[0] must be "native", "segment" or "otlp", is "nativ", did you mean "native"?"#
            ),
            (#""dialects":["otpl"]"#, #"37: web.dialects[0] must be "native", "segment" or "otlp", is "otpl", did you mean "otlp"?"#),
            (#""consent":"read""#, #"35: web.consent must be "write", is "read""#),
            (
                #""keys":{"a":{"secret":"${env:SECRET}","consent":true}}"#,
                #"73: web.keys.a.consent must be "write", is true"#
            ),
            (#""dialects":"otlp""#, #"36: web.dialects must be a list of dialects, is "otlp""#),
            (#""ip":1"#, "30: web.ip must be true or false, is 1"),
            (#""received_at":"now""#, #"39: web.received_at must be true or false, is "now""#),
            (
                #""origins":["https://app.example/"]"#,
                #"36: web.origins[0] must be an origin such as "https://app.example", or "*", is "https://app.example/""#
            ),
            (
                #""limits":{"memory":"50MB"}"#,
                "44: web.limits.memory: the memory of all bodies must be at least 5 times the largest body, is less"
            ),
            (#""limits":{"evnts":1}"#, "35: web.limits: unknown key 'evnts', did you mean 'events'?"),
        ])
    func words(json: String, message: String) throws {
        let found = try fault(json)
        #expect(found == [message], "\(found)")
    }

    @Test("several sources can be used together, but not at the same address, and standard input is read only once")
    func several() throws {
        let three = #"{"a":{"plugin":"http"},"b":{"plugin":"stdin"},"c":{"plugin":"http","listen":"unix:/x"}}"#
        #expect(try read(three).plans?.map(\.plugin) == ["http", "stdin", "http"])
        #expect(try read(three).faults == [])
        #expect(
            try read(#"{"a":{"plugin":"http"},"b":{"plugin":"http","listen":"127.0.0.1:8088"}}"#).faults
                == ["54: b.listen: '127.0.0.1:8088' is already the address of 'a'"])
        #expect(
            try read(#"{"a":{"plugin":"stdin"},"b":{"plugin":"stdin"}}"#).faults
                == ["25: b: standard input is already read by 'a', expected one such source"])
        #expect(
            try read(#"{"a":{}}"#).faults == [
                #"6: a: lacks 'plugin': the kind of source: "stdin", "http", "file", or the name of a module"#
            ])
        let unknown = try read(#"{"a":{"plugin":"kafka"}}"#).faults
        let words = #"16: a.plugin: unknown plugin 'kafka', expected "stdin", "http", "file" or a module that offers a source; "#
        #expect(unknown.count == 1 && unknown[0].hasPrefix(words), "\(unknown)")
        #expect(
            try read(#"{"a":{"plugin":"Kafka"}}"#).faults
                == [
                    #"16: a.plugin must be "stdin", "http", "file", or the name of a module, of letters a to z, digits, _ and -, is "Kafka""#
                ])
    }

    @Test("a source of a module has the keys of the router and its own settings, with their defaults and without secrets")
    func module() throws {
        let (plans, faults) = try read(
            #"{"a":{"plugin":"log"},"b":{"plugin":"log","topic":"x","token":"${env:SECRET}","in_flight":"3MB","consent":"write"}}"#)
        #expect(faults == [])
        let (first, second) = (try #require(plans?[0]), try #require(plans?[1]))
        #expect(first.plugin == "log" && first.module?.inFlight == 64_000_000 && first.consent == nil)
        #expect(String(decoding: try #require(first.module).settings.bytes, as: UTF8.self) == #"{"topic":"events"}"#)
        #expect(second.module?.inFlight == 3_000_000 && second.consent == .write)
        #expect(second.module?.shownSettings.contains { $0.text.contains(secret) } == false)
        #expect(second.module?.shownSettings.map(\.name) == ["topic", "token"])
        #expect(first != second && first.module == first.module)
    }
}
