// Configurations that together hold every key of the schema, each with a value that is not its default, and the modules that they name.

import Configuration
import Document
import Plans

struct ProbeModules: ModuleCatalog {
    private static let text = #"""
        {"name":"probe","version":"1","summary":"for tests","settings":{"type":"object","properties":{
          "word":{"type":"string","enum":["one","two"],"default":"one"},
          "url":{"type":"string"},
          "token":{"type":"string","writeOnly":true},
          "whole":{"type":"integer","minimum":1,"maximum":10,"default":3},
          "real":{"type":"number","default":0.5},
          "flag":{"type":"boolean","default":false},
          "size":{"type":"string","format":"size","default":"1MiB"},
          "pause":{"type":"string","format":"duration","default":"1.5s"},
          "each":{"type":"string","format":"expression"},
          "tags":{"type":"array","items":{"type":"string"}},
          "rows":{"type":"array","items":{"type":"object","properties":{"from":{"type":"string"}},"additionalProperties":false}},
          "inner":{"type":"object","properties":{"deep":{"type":"integer"}},"additionalProperties":false},
          "body":{"anyOf":[{"type":"string","enum":["lines","array"],"default":"lines"},
                           {"type":"object","properties":{"wrap":{"type":"string"}},"additionalProperties":false}]},
          "headers":{"type":"object","additionalProperties":{"type":"string","writeOnly":true}}},"additionalProperties":false}}
        """#
    private static let sourceText = #"""
        {"name":"probe","version":"1","summary":"for tests","settings":{"type":"object","properties":{
          "flag":{"type":"boolean","default":false},
          "tags":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}}
        """#
    static let probe = {
        var probe = try! ModuleDescription.read(json: text)
        probe.source = try! SourceDescription.read(json: sourceText)
        return probe
    }()

    var names: [String] { ["probe"] }
    func description(of module: String) -> ModuleDescription? { module == "probe" ? ProbeModules.probe : nil }
}

enum EveryKey {
    private static let steps = #"""
        [ { "drop": ["a", "b"] }, { "set": { "c": 1, "d": { "cel": "e" } } },
          { "hash": { "fields": ["f", "g"], "key": "ids", "name": true, "length": 16 } }, { "keep": ["h", "i"] },
          { "rename": { "j": "k", "l": "m" } }, { "move": { "n.o": "p.q", "n.r": "p.s" } }, { "default": { "t": 2, "u": 3 } },
          { "bin": { "v": [1, 2], "w": [3, 4] } }, { "round": { "x": 5, "y": "hour" } },
          { "ip": { "fields": ["z", "a1"], "v4": 16, "v6": 40 } }, { "limit": { "b1": 6, "c1": 7 } },
          { "limit": { "b2": { "most": 8, "other": "drop" } } }, { "lower": { "fields": ["d1", "e1"], "other": "drop" } },
          { "geo": { "fields": ["f1", "g1"], "keep": ["city", "region"] } }, { "flatten": ["h1", "i1"] },
          { "scrub": { "find": ["national_id", "ip"], "countries": ["DE", "FR"], "in": ["j1", "k1"],
                       "with": { "token": "1", "key": "2", "email": "3", "iban": "4", "card": "5", "national_id": "6", "mac": "7",
                                 "ip": "8", "phone": "9" } } },
          { "scrub": { "in": ["n1", "o1"], "action": "drop" } }, { "mask": { "pattern": "[0-9]+", "with": "#", "in": ["l1", "m1"] } } ]
        """#
    private static let filter = #"""
        "events": ["order_*", "item_*"], "match": { "type": ["track", "page"], "tenant": "a" },
        "not": { "events": ["test_*", "fake_*"], "match": { "bot": true, "staff": true }, "where": "properties.test" }, "where": "properties.n > 1"
        """#

    /// Everything at once, as far as keys do not exclude each other.
    private static let whole = #"""
        { "$schema": "./schema.json", "version": 1,
          "keys": { "ids": "0123456789abcdef", "disk": "0123456789abcdef", "old": "0123456789abcdef", "spare": "0123456789abcdef", "ledger": "0123456789abcdef",
            "trail": "0123456789abcdef", "before": "0123456789abcdef" },
          "limits": { "line": "1MB", "depth": 64, "disk": "5GB", "disk_free": "1GB" },
          "message_id": { "add": true, "deduplicate": { "for": "5m", "most": 5000 } },
          "state": { "encrypt": "disk" },
          "audit": { "key": "trail", "previous": ["before"], "origin": "example.com/log", "verdicts": "all", "retention": "70d",
            "heads": { "file": "/elsewhere/head", "command": ["ask", "witness"], "every": "17s",
              "witnesses": ["witness.example+9f3b8ddd+BAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g"] } },
          "plan": "plan.json", "shutdown": { "deadline": "3s" }, 
          "admin": { "listen": "127.0.0.1:9000", "open": true, "page": true, "origins": ["https://page.example"] },
          "sources": {
            "in": { "plugin": "stdin", "consent": "write", "lint": { "allow": ["SY0001"] } },
            "files": { "plugin": "file", "paths": ["a/*.log", "b/*.log"], "drain": true, "idle": "7s", "consent": "write", "poll": "9s", "lint": { "allow": ["SY0001"] } },
            "web": { "plugin": "http", "listen": "unix:/run/x.sock", "mode": "0660", "owner": "www:www",
              "tls": { "certificate": "c.pem", "key": "k.pem", "clients": "ca.pem" },
              "keys": { "app": { "secret": "${env:SECRET}", "dialects": ["segment", "otlp"], "routes": ["first", "second"], "consent": "write" },
                        "ops": { "secret": ["${env:SECRET}", "${env:OTHER}"] } },
              "origins": ["https://a.example", "https://b.example"], "dialects": ["native", "segment"], "consent": "write", "ip": true,
              "received_at": true,
              "limits": { "body": "3MB", "decoded": "2MB", "ratio": 50, "codings": 1, "head": "16KiB", "headers": 50, "url": "4KiB",
                "events": 500, "connections": 600, "by_address": 20, "memory": "64MB", "head_time": "4s", "idle": "20s", "pause": "6s",
                "request": "40s", "rate": "2KB", "answer_within": "1s", "reply": "11s" } },
            "log": { "plugin": "probe", "flag": true, "tags": ["a", "b"], "consent": "write", "in_flight": "3MB", "lint": { "allow": ["SY0001"] } },
            "public": { "plugin": "http", "listen": "127.0.0.1:8080", "open": true, "lint": { "allow": ["SY0001"] } } },
          "lint": { "allow": ["SY0001"] },
          "consent": {
            "lint": { "allow": ["SY0001"] },
            "levels": { "none": [], "some": ["ops"], "all": ["ops", "ads"] }, "subject": ["userId", "device.id"],
            "unknown": { "by": "context.region", "is": { "eu": "hold", "us": { "assume": "all" } }, "else": { "assume": "some" } },
            "hold": { "for": "2h", "events": 900, "bytes": "8MB", "subject": { "events": 30, "bytes": "40KB" } },
            "default": { "level": "some", "purposes": ["ops", "ads"] },
            "fields": { "traits.role": "all", "traits.mail": "all" }, "events": { "ad_*": "all", "promo_*": "all" }, "gpc": ["ads"],
            "ledger": { "key": "ledger", "previous": ["old"] }, "evidence": "disk", "minimum_version": "2026-01",
            "erasures": { "wait": "3m", "first": "4m", "most": "5h", "for": "6d" },
            "map": {
              "tcf": { "ads": { "purposes": [3, 4], "vendor": 77, "basis": ["legitimate_interest"] } },
              "gpp": { "ads": ["sale", "sharing"] }, "google": { "ads": ["ad_storage", "ad_user_data"] },
              "categories": { "ads": ["marketing", "promotion"] }, "members": { "ads": { "consent.ads": ["yes", "ok"] } } } },
          "providers": {
            "out": { "plugin": "probe", "word": "two", "url": "https://me:pw@host/x?key=abc", "token": "hush-hush", "whole": 4, "real": 0.25,
              "flag": true, "size": "2MiB", "pause": "3s", "each": "event", "tags": ["t1", "t2"], "rows": [ { "from": "r1" }, { "from": "r2" } ],
              "inner": { "deep": 8 }, "body": { "wrap": "w1" }, "headers": { "X": "hush-hush" },
              "delivery": { "batch": { "events": 77, "bytes": "70KB", "wait": "7s" },
                "queue": { "memory": "700KB", "disk": "7GB", "durability": "power", "full": "spill" },
                "retry": { "first": "2s", "most": "8s", "for": "3h" }, "dead_letters": "block", "breaker": 9, "deadline": "13s", "abandon": 4,
                "retention": "20d", "immediate": ["error_*", "fatal_*"], "ordered": true },
              "isolate": { "memory": "100MB", "environment": { "MODE": "fast", "LEVEL": "2" } },
              "filter": { \#(filter) }, "transform": \#(steps) },
            "other": { "plugin": "probe", "body": "array", "lint": { "allow": ["SY0001"] } } },
          "emit": [ { "where": "type == 'order'", "event": { "event": "big_order", "properties": { "n": { "cel": "properties.n" } } } } ],
          "routes": [
            { "name": "first", "to": ["other"], "events": ["a_*"], "lint": { "allow": ["SY0001"] } },
            { "name": "second", \#(filter), "else": true, "consent": { "level": "all", "purposes": ["ops", "ads"] },
              "sample": { "rate": 0.25, "rates": { "item_*": 0.5, "page_*": 0.75 }, "by": "userId", "salt": "summer",
                "keep": { "events": ["order_*", "pay_*"], "where": "properties.vip" },
                "limit": { "rate": "30/m", "burst": 44, "by": "context.device" },
                "annotate": "context.rate" },
              "session": { "by": "anonymousId", "idle": "12m", "as": "context.visit", "most": 999 }, "retention": "9d",
              "transform": \#(steps), "to": ["out", "other"] },
            { "name": "third", "consent": "all", "sample": { "target": "100/h" }, "to": ["out"] } ] }
        """#

    /// The policy for unknown subjects by the place of the router. The policies of other places are no part of the plan.
    private static func unknown(_ policy: String) -> String {
        #"""
        { "consent": { "levels": { "none": [], "some": ["ops"], "all": ["ops", "ads"] }, "default": "all", "unknown": \#(policy) },
          "providers": { "out": { "plugin": "probe" } }, "routes": [ { "to": ["out"] } ] }
        """#
    }
    private static let byRegion = #"{ "by": "r", "is": { "eu": "deny", "us": { "assume": "all" } }, "else": { "assume": "all" } }"#

    static let files = [
        whole, unknown(#"{ "assume": "all" }"#),
        unknown(#"{ "for": "here", "is": { "here": \#(byRegion) }, "else": "deny" }"#),
        unknown(#"{ "for": "here", "is": { "here": { "assume": "all" } }, "else": "deny" }"#),
        unknown(#"{ "for": "there", "is": { "here": "deny" }, "else": \#(byRegion) }"#),
        unknown(#"{ "for": "there", "is": { "here": "deny" }, "else": { "assume": "all" } }"#),
    ]
    /// For each file, the keys of policies that are not those of the place.
    static let unchosen: [Set<String>] = [[], [], ["consent.unknown.else"], ["consent.unknown.else"], [], []]

    static func plan(_ text: String) -> Plan? {
        let secrets = ["SECRET": "0123456789-secret", "OTHER": "0123456789-other"]
        let reader = RoutesFile(
            environment: { secrets[$0] }, contents: { .success($0.hasPrefix("plan") ? Array(#"{"events":{"order":{}}}"#.utf8) : []) },
            catalog: ProbeModules())
        return try? reader.read(Array(text.utf8), file: "routes.json")
    }

    static let schema = RoutesFile.schema(for: [ProbeModules.probe])
}
