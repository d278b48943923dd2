// Invalid files, each with exactly its faults.

import Testing

struct Broken: Sendable, CustomTestStringConvertible {
    var what: String
    var text: String
    /// The faults, without the name of the file.
    var faults: [String]
    init(_ what: String, _ text: String, _ faults: [String]) {
        (self.what, self.text, self.faults) = (what, text, faults)
    }
    var testDescription: String { what }
}

extension Broken {
    static let all = syntax + sections + providers + routes + rules + consent + placeholders

    static let syntax = [
        Broken(
            "an empty file",
            "",
            [
                "1:1: empty, expected an object"
            ]),
        Broken(
            "a file of spaces",
            " \n ",
            [
                "1:1: empty, expected an object"
            ]),
        Broken(
            "a byte order mark",
            "\u{feff}{}",
            [
                "1:1: begins with a byte order mark, expected UTF-8 without one"
            ]),
        Broken(
            "a missing comma between members",
            #"""
            {"a": 1
             "b": 2}
            """#,
            [
                #"2:2: unexpected "b", expected ',' or '}'"#
            ]),
        Broken(
            "a missing comma between items",
            #"{"a": [1 2]}"#,
            [
                "1:10: unexpected 2, expected ',' or ']'"
            ]),
        Broken(
            "a comma before the end of an object",
            #"{"a": 1,}"#,
            [
                "1:9: unexpected }, expected a key in double quotes or '}'; a comma is not allowed before it"
            ]),
        Broken(
            "a comma before the end of a list",
            #"{"a": [1,]}"#,
            [
                "1:10: unexpected ], expected a value; a comma is not allowed before it"
            ]),
        Broken(
            "a comment",
            """
            // routes
            {}
            """,
            [
                "1:1: unexpected /, expected a value; JSON has no comments"
            ]),
        Broken(
            "a shell comment",
            """
            {
            # routes
            }
            """,
            [
                "2:1: unexpected #, expected a key in double quotes or '}'; JSON has no comments"
            ]),
        Broken(
            "single quotes",
            "{'a': 1}",
            [
                "1:2: unexpected ', expected a key in double quotes or '}'; JSON uses double quotes"
            ]),
        Broken(
            "a key without quotes",
            "{a: 1}",
            [
                "1:2: unexpected a, expected a key in double quotes or '}'"
            ]),
        Broken(
            "a string without an end",
            #"""
            {"a": "b
            }
            """#,
            [
                "1:7: the string does not end, expected a closing quote on its line"
            ]),
        Broken(
            "a string without an end, at the end of the file",
            #"{"a": "b"#,
            [
                "1:7: the string does not end, expected a closing quote on its line"
            ]),
        Broken(
            "a tab in a string",
            "{\"a\": \"b\tc\"}",
            [
                #"1:9: control character 0x9 in a string, expected an escape such as \n or \u0009"#
            ]),
        Broken(
            "an unknown escape",
            #"{"a": "b\qc"}"#,
            [
                #"1:10: invalid escape, expected \" \\ \/ \b \f \n \r \t or \u and four digits"#
            ]),
        Broken(
            "half a surrogate pair",
            #"{"a": "\ud800"}"#,
            [
                #"1:7: invalid Unicode '\uD800', expected both halves of a surrogate pair"#
            ]),
        Broken(
            "a NUL in a key",
            #"{"a\u0000": 1}"#,
            [
                "1:2: a key holds a NUL byte"
            ]),
        Broken(
            "a misspelt literal",
            #"{"a": ture}"#,
            [
                "1:7: unexpected ture, expected a value"
            ]),
        Broken(
            "a number with a leading zero",
            #"{"a": 01}"#,
            [
                "1:7: unexpected 01, expected a value"
            ]),
        Broken(
            "a number that ends in a dot",
            #"{"a": 1.}"#,
            [
                "1:7: unexpected 1., expected a value"
            ]),
        Broken(
            "a colon missing",
            #"{"a" 1}"#,
            [
                "1:6: unexpected 1, expected ':'"
            ]),
        Broken(
            "something after the end",
            "{} {}",
            [
                "1:4: unexpected {, expected the end of the file"
            ]),
        Broken(
            "the end in a member",
            #"{"a":"#,
            [
                "1:6: the file ends here, expected a value"
            ]),
        Broken(
            "the end in a list",
            #"{"a": [1"#,
            [
                "1:9: the file ends here, expected ',' or ']'"
            ]),
        Broken(
            "the end after a key",
            #"""
            {"a"

            """#,
            [
                "2:1: the file ends here, expected ':'"
            ]),
        Broken(
            "an object that is not closed",
            #"""
            {"a": 1

            """#,
            [
                "2:1: the file ends here, expected ',' or '}'"
            ]),
        Broken(
            "one closing brace too many",
            #"{"a": 1}}"#,
            [
                "1:9: unexpected }, expected the end of the file"
            ]),
        Broken(
            "a column counts bytes",
            #"{"é": é}"#,
            [
                "1:8: unexpected é, expected a value"
            ]),
    ]

    static let sections = [
        Broken(
            "a list for a file",
            "[]",
            [
                "1:1: the top level must be an object, is a list"
            ]),
        Broken(
            "a number for a file",
            "5",
            [
                "1:1: the top level must be an object, is 5"
            ]),
        Broken(
            "an empty object",
            "{}",
            [
                "1:1: lacks 'providers': where events go, by name",
                "1:1: lacks 'routes': what each provider gets",
            ]),
        Broken(
            "an unknown section",
            #"""
            {"provider":{},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:2: unknown key 'provider', did you mean 'providers'?"
            ]),
        Broken(
            "an unknown section without a near name",
            #"""
            {"spool":{},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:2: unknown key 'spool', expected version, keys, limits, message_id, state, shutdown, admin, sources, consent, providers, emit or routes"
            ]),
        Broken(
            "an unknown section that is a key of routes",
            #"""
            {"where":1,
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:2: unknown key 'where', expected version, keys, limits, message_id, state, shutdown, admin, sources, consent, providers, emit or routes"
            ]),
        Broken(
            "duplicate sections",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}],
            "routes":[]}
            """#,
            [
                "3:1: duplicate key 'routes', expected once; the first is in line 2"
            ]),
        Broken(
            "an escaped duplicate",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"name":"a","n\u0061me":"b","to":["out"]}]}
            """#,
            [
                "2:23: routes[0]: duplicate key 'name', expected once; the first is in line 2"
            ]),
        Broken(
            "a version of the future",
            #"""
            {"version":2,
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:12: version must be 1, is 2"
            ]),
        Broken(
            "a version in quotes",
            #"""
            {"version":"1",
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:12: version must be 1, is "1""#
            ]),
        Broken(
            "a short key",
            #"""
            {"keys":{"ids":"only fifteen by"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:16: keys.ids must have at least 16 bytes, has 15"
            ]),
        Broken(
            "a short key from the environment",
            #"""
            {"keys":{"ids":"${env:SHORT}"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:16: keys.ids must have at least 16 bytes, the value of ${env:SHORT} is shorter"
            ]),
        Broken(
            "a key that is a number",
            #"""
            {"keys":{"ids":12345678901234567890},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:16: keys.ids must be a string, is a number"
            ]),
        Broken(
            "keys that are a list",
            #"""
            {"keys":[],
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:9: keys must be an object of keys, is a list"
            ]),
        Broken(
            "a key without a name",
            #"""
            {"keys":{"":"0123456789abcdef"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:10: keys: the key '' must be a name, not empty"
            ]),
        Broken(
            "invalid settings of message ids",
            """
            {"message_id":{"add":"yes","deduplicate":{"for":"0s","most":0,"window":1}},
             "providers":{"a":{"plugin":"console"}},"routes":[{"to":["a"]}]}
            """,
            [
                #"1:22: message_id.add must be true or false, is "yes""#,
                #"1:49: message_id.deduplicate.for must be between 1ms and 366d, is "0s""#,
                "1:61: message_id.deduplicate.most must be between 1 and 100000000, is 0",
                "1:63: message_id.deduplicate: unknown key 'window', expected for or most",
            ]),
        Broken(
            "limits out of bounds",
            #"""
            {"limits":{"line":"2GB","depth":0},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:19: limits.line must be between 1B and 1GB, is "2GB""#,
                "1:33: limits.depth must be between 1 and 100000, is 0",
            ]),
        Broken(
            "a depth of half a level",
            #"""
            {"limits":{"depth":1.5},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:20: limits.depth must be a whole number, is 1.5"
            ]),
        Broken(
            "a line without a unit",
            #"""
            {"limits":{"line":16000000},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:19: limits.line must be a size such as "16MB" or "512KiB", is 16000000, did you mean "16MB"?"#
            ]),
        Broken(
            "a line without a unit that is not a size either",
            #"""
            {"limits":{"line":0},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:19: limits.line must be a size such as "16MB" or "512KiB", is 0"#
            ]),
        Broken(
            "a line without a unit that would be too long",
            #"""
            {"limits":{"line":"2000000000"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:19: limits.line must be a size such as "16MB" or "512KiB", is "2000000000""#
            ]),
        Broken(
            "an unknown limit",
            #"""
            {"limits":{"lines":"1MB"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:12: limits: unknown key 'lines', did you mean 'line'?"
            ]),
        Broken(
            "no source",
            #"""
            {"sources":{},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:12: sources: must not be empty, expected an object of sources"
            ]),
        Broken(
            "an address of admin that others can reach",
            #"""
            {"admin":{"listen":"0.0.0.0:9464"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:20: admin.listen: '0.0.0.0:9464' can be reached over the network, expected "open": true"#
            ]),
        Broken(
            "a socket for admin",
            #"""
            {"admin":{"listen":"unix:/run/a.sock"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:20: admin.listen must be an address of the network such as "127.0.0.1:9464", is "unix:/run/a.sock""#
            ]),
        Broken(
            "keys for routes that do not exist",
            #"""
            {"sources":{"web":{"plugin":"http","keys":{"app":{"secret":"${env:SECRET}","routes":["erors","x"]}}}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"name":"errors","to":["out"]}]}
            """#,
            [
                "1:86: sources.web.keys.app.routes[0]: unknown route 'erors', did you mean 'errors'?",
                "1:94: sources.web.keys.app.routes[1]: unknown route 'x', expected the name of one of 'routes'",
            ]),
        Broken(
            "rights to write a ledger that does not exist",
            #"""
            {"sources":{"stdin":{"plugin":"stdin","consent":"write"},"log":{"plugin":"file","paths":["a"],"consent":"write"},
            "web":{"plugin":"http","keys":{"app":{"secret":"${env:SECRET}","consent":"write"}}}},
            "consent":{"levels":["none","all"],"default":"all"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:49: sources.stdin.consent: there is no ledger to write to, expected 'ledger' in 'consent'",
                "1:105: sources.log.consent: there is no ledger to write to, expected 'ledger' in 'consent'",
                "2:74: sources.web.keys.app.consent: there is no ledger to write to, expected 'ledger' in 'consent'",
            ]),
        Broken(
            "a right that does not exist",
            #"""
            {"sources":{"stdin":{"plugin":"stdin","consent":"writes"}},
            "keys":{"ids":"0123456789abcdef"},
            "consent":{"levels":["none","all"],"default":"all","ledger":"ids"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:49: sources.stdin.consent must be "write", is "writes", did you mean "write"?"#
            ]),
        Broken(
            "an unknown kind of source",
            #"""
            {"sources":{"web":{"plugin":"httpd"}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:29: sources.web.plugin must be "stdin", "http" or "file", is "httpd", did you mean "http"?"#
            ]),
        Broken(
            "a source of files without paths",
            #"""
            {"sources":{"logs":{"plugin":"file","drain":"yes"}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:20: sources.logs: lacks 'paths': which files, as patterns: var/*.ndjson",
                #"1:45: sources.logs.drain must be true or false, is "yes""#,
            ]),
        Broken(
            "paths that are not files, or are listed twice",
            #"""
            {"sources":{"logs":{"plugin":"file","paths":["a","var/","a"],"idle":"1ms"}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:50: sources.logs.paths[1] must be the path of files, such as "var/*.ndjson", is "var/""#,
                #"1:57: sources.logs.paths[2]: 'a' is there twice, expected once"#,
                #"1:69: sources.logs.idle must be between 100ms and 1d, is "1ms""#,
            ]),
        Broken(
            "two sources of standard input",
            #"""
            {"sources":{"a":{"plugin":"stdin"},"b":{"plugin":"stdin"}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:36: sources.b: standard input is already read by 'a', expected one such source"
            ]),
        Broken(
            "a source without a plugin",
            #"""
            {"sources":{"a":{}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:17: sources.a: lacks 'plugin': the kind of source: "stdin", "http" or "file""#
            ]),
    ]

    static let providers = [
        Broken(
            "no providers",
            #"{"providers":{},"routes":[{"to":["out"]}]}"#,
            [
                "1:14: providers: must not be empty, expected an object of providers"
            ]),
        Broken(
            "providers as a list",
            #"{"providers":[],"routes":[{"to":["out"]}]}"#,
            [
                "1:14: providers must be an object of providers, is a list"
            ]),
        Broken(
            "a provider without a plugin",
            #"""
            {"providers":{"out":{"format":"pretty"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:21: providers.out: lacks 'plugin', expected the name of a module; installed: broken, console, file, noop and probe"
            ]),
        Broken(
            "an unknown module",
            #"""
            {"providers":{"out":{"plugin":"consle"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:31: providers.out.plugin: unknown module 'consle', did you mean 'console'?"
            ]),
        Broken(
            "an unknown module without a near name",
            #"""
            {"providers":{"out":{"plugin":"kafka"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:31: providers.out.plugin: unknown module 'kafka', installed: broken, console, file, noop and probe"
            ]),
        Broken(
            "a path for a module",
            #"""
            {"providers":{"out":{"plugin":"../evil.so"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:31: providers.out.plugin must be the name of a module, of letters a to z, digits, _ and -, is "../evil.so""#
            ]),
        Broken(
            "a module that cannot be used",
            #"""
            {"providers":{"out":{"plugin":"broken"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:31: providers.out.plugin: the module 'broken' cannot be used: it was built for version 9 of the interface"
            ]),
        Broken(
            "a module that is a number",
            #"""
            {"providers":{"out":{"plugin":1}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:31: providers.out.plugin must be a string, is 1"
            ]),
        Broken(
            "an unknown setting",
            #"""
            {"providers":{"out":{"plugin":"console","fromat":"pretty"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:41: providers.out: unknown key 'fromat', did you mean 'format'?"
            ]),
        Broken(
            "invalid isolation",
            #"""
            {"providers":{"out":{"plugin":"console","isolate":"yes"},"other":{"plugin":"console","isolate":{"memory":"1MB","cpu":1}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:51: providers.out.isolate must be true, false or an object with 'memory' or 'environment', is "yes""#,
                #"1:106: providers.other.isolate.memory must be between 64MB and 1000GB, is "1MB""#,
                "1:112: providers.other.isolate: unknown key 'cpu', expected memory or environment",
            ]),
        Broken(
            "invalid variables of an isolated module",
            #"""
            {"providers":{"out":{"plugin":"console","isolate":{"environment":{"A=B":"x","7":"y","_C":8,"D":"a\u0000"}}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:67: providers.out.isolate.environment: the key 'A=B' must be the name of a variable, of letters, digits and _, and not begin with a digit",
                "1:77: providers.out.isolate.environment: the key '7' must be the name of a variable, of letters, digits and _, and not begin with a digit",
                "1:90: providers.out.isolate.environment._C must be a string, is 8",
                #"1:96: providers.out.isolate.environment.D must be text without a NUL character, is "a\u0000""#,
            ]),
        Broken(
            "an unknown setting without a near name",
            #"""
            {"providers":{"out":{"plugin":"console","sandbox":true}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:41: providers.out: unknown key 'sandbox', expected plugin, delivery, isolate, format or stream"
            ]),
        Broken(
            "a misspelt choice",
            #"""
            {"providers":{"out":{"plugin":"console","format":"prety"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:50: providers.out.format must be "ndjson" or "pretty", is "prety", did you mean "pretty"?"#
            ]),
        Broken(
            "a choice that is a number",
            #"""
            {"providers":{"out":{"plugin":"console","format":1}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:50: providers.out.format must be "ndjson" or "pretty", is 1"#
            ]),
        Broken(
            "a required setting that is missing",
            #"""
            {"providers":{"out":{"plugin":"file"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:21: providers.out: lacks 'path'"
            ]),
        Broken(
            "a text that does not match its pattern",
            #"""
            {"providers":{"out":{"plugin":"file","path":"a","mode":"999"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:56: providers.out.mode must be text that matches 0[0-7]{3}, is "999""#
            ]),
        Broken(
            "invalid nested settings",
            #"""
            {"providers":{"out":{"plugin":"file","path":"a","rotate":{"bytes":"1mb","every":"1 h","keep":0,"kep":1}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:67: providers.out.rotate.bytes must be a size such as "16MB" or "512KiB", is "1mb", did you mean "1MB"?"#,
                #"1:81: providers.out.rotate.every must be a time such as "500ms" or "24h", is "1 h", did you mean "1h"?"#,
                "1:94: providers.out.rotate.keep must be between 1 and 1000, is 0",
                "1:96: providers.out.rotate: unknown key 'kep', did you mean 'keep'?",
            ]),
        Broken(
            "settings of the wrong types",
            #"""
            {"providers":{"out":{"plugin":"probe","whole":1.5,"real":"x","size":1,"pause":null,"tags":"a","headers":[]}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:47: providers.out.whole must be a whole number, is 1.5",
                #"1:58: providers.out.real must be a number, is "x""#,
                #"1:69: providers.out.size must be a size such as "16MB" or "512KiB", is 1, did you mean "1B"?"#,
                #"1:79: providers.out.pause must be a time such as "500ms" or "24h", is null"#,
                #"1:91: providers.out.tags must be a list, is "a""#,
                "1:105: providers.out.headers must be an object, is a list",
            ]),
        Broken(
            "settings out of bounds",
            #"""
            {"providers":{"out":{"plugin":"probe","whole":11,"real":0.25,"least":3,"tags":["a","B"],"headers":{"a":1}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:47: providers.out.whole must be between 1 and 10, is 11",
                "1:57: providers.out.real must be at least 0.5, is 0.25",
                "1:70: providers.out.least must be at most 2, is 3",
                #"1:84: providers.out.tags[1] must be text that matches [a-z]+, is "B""#,
                "1:104: providers.out.headers.a must be a string, is 1",
            ]),
        Broken(
            "numbers that do not fit in 64 bits",
            #"""
            {"providers":{"out":{"plugin":"probe","real":1e400,"whole":99999999999999999999}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:46: providers.out.real must be a number that fits in 64 bits, is 1e400",
                "1:60: providers.out.whole must be a whole number that fits in 64 bits, is 99999999999999999999",
            ]),
        Broken(
            "invalid deadlines",
            #"""
            {"providers":{"out":{"plugin":"console","delivery":{"deadline":60,"abandon":0}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:64: providers.out.delivery.deadline must be a time such as "500ms" or "24h", is 60, did you mean "60ms" or "60s"?"#,
                "1:77: providers.out.delivery.abandon must be between 1 and 1000, is 0",
            ]),
        Broken(
            "delivery of the wrong types",
            #"""
            {"providers":{"out":{"plugin":"console","delivery":{"batch":[],"queue":1,"retry":"x","immediate":"error_*","ordered":1}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:61: providers.out.delivery.batch must be an object, is a list",
                "1:72: providers.out.delivery.queue must be an object, is 1",
                #"1:82: providers.out.delivery.retry must be an object, is "x""#,
                #"1:98: providers.out.delivery.immediate must be a list of globs, is "error_*""#,
                "1:118: providers.out.delivery.ordered must be true or false, is 1",
            ]),
        Broken(
            "batches out of bounds",
            #"""
            {"providers":{"out":{"plugin":"console","delivery":{"batch":{"events":0,"bytes":"0B","wait":"400d"}}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:71: providers.out.delivery.batch.events must be between 1 and 1000000, is 0",
                #"1:81: providers.out.delivery.batch.bytes must be between 1B and 1GB, is "0B""#,
                #"1:93: providers.out.delivery.batch.wait must be between 0ms and 366d, is "400d""#,
            ]),
        Broken(
            "batches of the wrong types",
            #"""
            {"providers":{"out":{"plugin":"console","delivery":{"batch":{"events":"500","bytes":1000000,"wait":1}}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:71: providers.out.delivery.batch.events must be a whole number, is "500""#,
                #"1:85: providers.out.delivery.batch.bytes must be a size such as "16MB" or "512KiB", is 1000000, did you mean "1MB"?"#,
                #"1:100: providers.out.delivery.batch.wait must be a time such as "500ms" or "24h", is 1, did you mean "1ms" or "1s"?"#,
            ]),
        Broken(
            "batches over the limits of the module",
            #"""
            {"providers":{"out":{"plugin":"probe","delivery":{"batch":{"events":101,"bytes":"50001B"}}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:69: providers.out.delivery.batch.events must be at most 100, the limit of the module, is 101",
                #"1:81: providers.out.delivery.batch.bytes must be at most 50KB, the limit of the module, is "50001B""#,
            ]),
        Broken(
            "a batch larger than the queue",
            #"""
            {"providers":{"out":{"plugin":"console","delivery":{"batch":{"bytes":"5MB"}}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:70: providers.out.delivery.batch.bytes must be at most the queue's memory of 4MB, is "5MB""#
            ]),
        Broken(
            "a batch larger than its own queue",
            #"""
            {"providers":{"out":{"plugin":"console","delivery":{"batch":{"bytes":"2MB"},"queue":{"memory":"1MB"}}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:70: providers.out.delivery.batch.bytes must be at most the queue's memory of 1MB, is "2MB""#
            ]),
        Broken(
            "invalid retentions",
            #"""
            {"providers":{"out":{"plugin":"console","delivery":{"retention":"30"}}},
            "routes":[{"retention":"0s","to":["out"]},{"retention":30,"to":["out"]}]}
            """#,
            [
                #"1:65: providers.out.delivery.retention must be a time such as "500ms" or "24h", is "30", did you mean "30ms" or "30s"?"#,
                #"2:24: routes[0].retention must be between 1ms and 3660d, is "0s""#,
                #"2:56: routes[1].retention must be a time such as "500ms" or "24h", is 30, did you mean "30ms" or "30s"?"#,
            ]),
        Broken(
            "invalid settings of a queue",
            #"""
            {"providers":{"out":{"plugin":"console","delivery":{"queue":{"full":"dropnewest","disc":"1GB"}}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:69: providers.out.delivery.queue.full must be "block", "spill", "drop_newest" or "drop_oldest", is "dropnewest", did you mean "drop_newest"?"#,
                "1:82: providers.out.delivery.queue: unknown key 'disc', did you mean 'disk'?",
            ]),
        Broken(
            "a queue that spills without a disk",
            #"""
            {"providers":{"out":{"plugin":"console","delivery":{"queue":{"full":"spill"}}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:61: providers.out.delivery.queue: 'spill' needs 'disk', the most bytes that may wait there"
            ]),
        Broken(
            "invalid settings of a queue on disk",
            #"""
            {"state":{"encrypt":"disk"},"shutdown":{"deadline":10},"limits":{"disk":"1","disk_free":"x"},
            "providers":{"out":{"plugin":"console","delivery":{"queue":{"durability":"power"},"breaker":0}},
            "two":{"plugin":"console","delivery":{"queue":{"disk":"10KB","durability":"disk"},"dead_letters":"blok"}}},
            "routes":[{"to":["out","two"]}]}
            """#,
            [
                "1:21: state.encrypt: unknown encryption key 'disk', expected a name from 'keys', which is empty",
                #"1:52: shutdown.deadline must be a time such as "500ms" or "24h", is 10, did you mean "10ms" or "10s"?"#,
                #"1:73: limits.disk must be a size such as "16MB" or "512KiB", is "1", did you mean "1B"?"#,
                #"1:89: limits.disk_free must be a size such as "16MB" or "512KiB", is "x""#,
                "2:60: providers.out.delivery.queue: 'durability' needs 'disk', the most bytes that may wait there",
                "2:93: providers.out.delivery.breaker must be between 1 and 1000000, is 0",
                "3:55: providers.two.delivery.queue.disk must be at least the 1MB of a batch, is \"10KB\"",
                #"3:75: providers.two.delivery.queue.durability must be "process" or "power", is "disk""#,
                #"3:98: providers.two.delivery.dead_letters must be "lose" or "block", is "blok", did you mean "block"?"#,
            ]),
        Broken(
            "a first pause that is longer than the longest",
            #"""
            {"providers":{"out":{"plugin":"console","delivery":{"retry":{"first":"2m","most":"1m","for":"1h"}}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:70: providers.out.delivery.retry.first must be at most retry.most, is "2m""#
            ]),
        Broken(
            "an empty list of immediate events",
            #"""
            {"providers":{"out":{"plugin":"console","delivery":{"immediate":[]}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:65: providers.out.delivery.immediate: must not be empty, expected a list of globs"
            ]),
    ]

    static let routes = [
        Broken(
            "no routes",
            #"{"providers":{"out":{"plugin":"console"}},"routes":[]}"#,
            [
                "1:52: routes: must not be empty, expected a list of routes"
            ]),
        Broken(
            "routes as an object",
            #"{"providers":{"out":{"plugin":"console"}},"routes":{}}"#,
            [
                "1:52: routes must be a list of routes, is an object"
            ]),
        Broken(
            "a route that is a string",
            #"{"providers":{"out":{"plugin":"console"}},"routes":["out"]}"#,
            [
                #"1:53: routes[0] must be an object, is "out""#
            ]),
        Broken(
            "a route without a destination",
            #"{"providers":{"out":{"plugin":"console"}},"routes":[{}]}"#,
            [
                "1:53: routes[0]: lacks 'to': the providers that get the event"
            ]),
        Broken(
            "an unknown provider",
            #"{"providers":{"archive":{"plugin":"console"}},"routes":[{"to":["archiv"]}]}"#,
            [
                "1:64: routes[0].to[0]: unknown provider 'archiv', did you mean 'archive'?"
            ]),
        Broken(
            "an unknown provider without a near name",
            #"{"providers":{"archive":{"plugin":"console"},"out":{"plugin":"noop"}},"routes":[{"to":["collector"]}]}"#,
            [
                "1:88: routes[0].to[0]: unknown provider 'collector', expected archive or out"
            ]),
        Broken(
            "a provider twice",
            #"{"providers":{"out":{"plugin":"console"}},"routes":[{"to":["out","out"]}]}"#,
            [
                "1:66: routes[0].to[1]: 'out' is there twice, expected once"
            ]),
        Broken(
            "a destination that is not a list",
            #"{"providers":{"out":{"plugin":"console"}},"routes":[{"to":"out"}]}"#,
            [
                #"1:59: routes[0].to must be a list of providers, is "out""#
            ]),
        Broken(
            "no destination",
            #"{"providers":{"out":{"plugin":"console"}},"routes":[{"to":[]}]}"#,
            [
                "1:59: routes[0].to: must not be empty, expected a list of providers"
            ]),
        Broken(
            "two routes with the same name",
            #"{"providers":{"out":{"plugin":"console"}},"routes":[{"name":"a","to":["out"]},{"name":"a","to":["out"]}]}"#,
            [
                "1:87: routes[1].name: 'a' is the name of another route, expected a different name"
            ]),
        Broken(
            "a name that another route has by default",
            #"{"providers":{"out":{"plugin":"console"}},"routes":[{"name":"routes[1]","to":["out"]},{"to":["out"]}]}"#,
            [
                "1:61: routes[0].name: 'routes[1]' is the name of another route, expected a different name"
            ]),
        Broken(
            "an empty name",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"name":"","to":["out"]}]}
            """#,
            [
                #"2:19: routes[0].name must be a name, not empty, is """#
            ]),
        Broken(
            "a name that controls the terminal",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"name":"\u001b[31mred","to":["out"]}]}
            """#,
            [
                #"2:19: routes[0].name must be a name without control characters, is "\u001b[31mred""#
            ]),
        Broken(
            "an unknown key of a route",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"evnets":["a"],"to":["out"]}]}
            """#,
            [
                "2:12: routes[0]: unknown key 'evnets', did you mean 'events'?"
            ]),
        Broken(
            "an unknown key of a route that is a section",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"emit":"true","to":["out"]}]}
            """#,
            [
                "2:12: routes[0]: unknown key 'emit', expected name, events, match, not, where, else, consent, sample, session, retention, transform or to"
            ]),
        Broken(
            "events of the wrong type",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"events":1,"to":["out"]}]}
            """#,
            [
                "2:21: routes[0].events must be a glob or a list of globs, is 1"
            ]),
        Broken(
            "no events",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"events":[],"to":["out"]}]}
            """#,
            [
                "2:21: routes[0].events: must not be empty, expected a list of globs"
            ]),
        Broken(
            "an empty glob",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"events":[""],"to":["out"]}]}
            """#,
            [
                #"2:22: routes[0].events[0] must be a glob on the event's name, not empty, is """#
            ]),
        Broken(
            "a glob that is a number",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"events":["a",2],"to":["out"]}]}
            """#,
            [
                "2:26: routes[0].events[1] must be a string, is 2"
            ]),
        Broken(
            "a match of the wrong type",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"match":["type"],"to":["out"]}]}
            """#,
            [
                "2:20: routes[0].match must be an object of paths with values, is a list"
            ]),
        Broken(
            "an empty match",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"match":{},"to":["out"]}]}
            """#,
            [
                "2:20: routes[0].match: must not be empty, expected an object of paths with values"
            ]),
        Broken(
            "a match of values that are not scalars",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"match":{"a":{},"b":[[]],"c":[]},"to":["out"]}]}
            """#,
            [
                "2:25: routes[0].match.a must be a string, a number, true, false, null, or a list of them, is an object",
                "2:33: routes[0].match.b[0] must be a string, a number, true, false or null, is a list",
                "2:41: routes[0].match.c: must not be empty, expected a list of values",
            ]),
        Broken(
            "a match on broken paths",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"match":{"a..b":1,"":2,"c[0]":3},"to":["out"]}]}
            """#,
            [
                "2:24: routes[0].match: the key 'a..b' is not a path: expected a key",
                "2:31: routes[0].match: the key '' is not a path: a path needs a key",
                "2:38: routes[0].match: the key 'c[0]' is not a path: expected a key in quotes after '['",
            ]),
        Broken(
            "a match on one path written twice",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"match":{"a.b":1,"a[\"b\"]":2},"to":["out"]}]}
            """#,
            [
                "2:29: routes[0].match: 'a.b' is there twice, expected once"
            ]),
        Broken(
            "exclusions that are empty, of the wrong type, with an unknown key and with invalid parts",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"not":{},"to":["out"]},
            {"not":["debug_*"],"to":["out"]},
            {"not":{"where":"a"},"to":["out"]},
            {"not":{"events":[],"match":{"a..b":1}},"to":["out"]}]}
            """#,
            [
                "2:18: routes[0].not: must not be empty, expected events, match, or both",
                "3:8: routes[1].not must be an object, is a list",
                "4:9: routes[2].not: unknown key 'where', expected events or match",
                "5:18: routes[3].not.events: must not be empty, expected a list of globs",
                "5:33: routes[3].not.match: the key 'a..b' is not a path: expected a key",
            ]),
        Broken(
            "an else on the first route, an else of the wrong type, and an else behind a route that takes every event",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"else":true,"to":["out"]},
            {"events":"a","else":"yes","to":["out"]},
            {"to":["out"]},
            {"events":"b","else":true,"to":["out"]}]}
            """#,
            [
                "2:19: routes[0].else: there is no route before it, expected routes that take events first",
                #"3:22: routes[1].else must be true or false, is "yes""#,
                "5:22: routes[3].else: nothing is left for it, since routes[2] takes every event",
            ]),
        Broken(
            "a rate over one",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"rate":1.5},"to":["out"]}]}
            """#,
            [
                "2:29: routes[0].sample.rate must be between 0 and 1, is 1.5"
            ]),
        Broken(
            "a rate in percent",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"rate":"25%"},"to":["out"]}]}
            """#,
            [
                #"2:29: routes[0].sample.rate must be a number between 0 and 1, is "25%""#
            ]),
        Broken(
            "a sample without a rate",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"by":"userId"},"to":["out"]}]}
            """#,
            [
                "2:21: routes[0].sample: lacks 'rate', expected rate, rates, target or limit"
            ]),
        Broken(
            "a sample that is a number",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":0.5,"to":["out"]}]}
            """#,
            [
                "2:21: routes[0].sample must be an object, is 0.5"
            ]),
        Broken(
            "rates by name that are invalid or empty",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"rates":{"a*":1.5,"":0.1,"b":"half"}},"to":["out"]},
            {"sample":{"rates":{}},"to":["out"]},
            {"sample":{"rates":[0.1]},"to":["out"]}]}
            """#,
            [
                "2:36: routes[0].sample.rates.a* must be between 0 and 1, is 1.5",
                "2:40: routes[0].sample.rates: the key '' must be a glob on the event's name, not empty",
                #"2:51: routes[0].sample.rates.b must be a number between 0 and 1, is "half""#,
                "3:20: routes[1].sample.rates: must not be empty, expected an object of globs with rates",
                "4:20: routes[2].sample.rates must be an object of globs with rates, is a list",
            ]),
        Broken(
            "targets and limits that are not rates",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"target":200},"to":["out"]},
            {"sample":{"target":"200"},"to":["out"]},
            {"sample":{"target":"200/sec"},"to":["out"]},
            {"sample":{"limit":"0/s"},"to":["out"]},
            {"sample":{"limit":"1/S"},"to":["out"]},
            {"sample":{"limit":"0.3/d"},"to":["out"]},
            {"sample":{"limit":"2000000000/s"},"to":["out"]},
            {"sample":{"limit":true},"to":["out"]}]}
            """#,
            [
                #"2:31: routes[0].sample.target must be a rate such as "100/s" or "30/m", is 200, did you mean "200/s"?"#,
                #"3:21: routes[1].sample.target must be a rate such as "100/s" or "30/m", is "200", did you mean "200/s"?"#,
                #"4:21: routes[2].sample.target must be a rate such as "100/s" or "30/m", is "200/sec", the units are /d, /h, /m and /s"#,
                #"5:20: routes[3].sample.limit must be at least 1/d, is "0/s""#,
                #"6:20: routes[4].sample.limit must be a rate such as "100/s" or "30/m", is "1/S", did you mean "1/s"?"#,
                #"7:20: routes[5].sample.limit must be a rate such as "100/s" or "30/m", is "0.3/d", which is not a whole number of events a day"#,
                #"8:20: routes[6].sample.limit must be a rate such as "100/s" or "30/m", is "2000000000/s", which is too large"#,
                #"9:20: routes[7].sample.limit must be a rate such as "100/s" or "30/m", is true"#,
            ]),
        Broken(
            "invalid limits with a burst",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"limit":{"burst":5}},"to":["out"]},
            {"sample":{"limit":{"rate":"1/s","burst":0}},"to":["out"]},
            {"sample":{"limit":{"rate":"1/s","burts":1}},"to":["out"]}]}
            """#,
            [
                "2:30: routes[0].sample.limit: lacks 'rate': how many events pass per unit of time",
                "3:42: routes[1].sample.limit.burst must be between 1 and 100000000, is 0",
                "4:34: routes[2].sample.limit: unknown key 'burts', did you mean 'burst'?",
            ]),
        Broken(
            "a target beside a rate, and a limit by a member",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"target":"1/s","rate":0.5},"to":["out"]},
            {"sample":{"target":"1/s","rates":{"a":0.5}},"to":["out"]},
            {"sample":{"limit":"1/s","by":"userId"},"to":["out"]}]}
            """#,
            [
                "2:21: routes[0].sample: holds rate and target, expected one of them, since a target sets the rate",
                "3:11: routes[1].sample: holds rates and target, expected one of them, since a target sets the rate",
                "4:31: routes[2].sample.by: a limit does not use it, expected it together with rate, rates or target",
            ]),
        Broken(
            "annotations that are not paths",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"rate":0.5,"annotate":1},"to":["out"]},
            {"sample":{"rate":0.5,"annotate":"a..b"},"to":["out"]}]}
            """#,
            [
                "2:44: routes[0].sample.annotate must be true, false or a path such as context.sampleRate, is 1",
                "3:37: routes[1].sample.annotate: 'a..b' is not a path: expected a key",
            ]),
        Broken(
            "sessions without a subject, and with invalid parts",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"session":{},"to":["out"]},
            {"session":"userId","to":["out"]},
            {"session":{"by":"a..b","idle":30,"as":"","most":0},"to":["out"]},
            {"session":{"by":"userId","idle":"1ms","after":"1m"},"to":["out"]}]}
            """#,
            [
                "2:22: routes[0].session: lacks 'by': the member whose value is the subject",
                #"3:12: routes[1].session must be an object, is "userId""#,
                "4:21: routes[2].session.by: 'a..b' is not a path: expected a key",
                #"4:32: routes[2].session.idle must be a time such as "500ms" or "24h", is 30, did you mean "30s"?"#,
                "4:41: routes[2].session.as: '' is not a path: a path needs a key",
                "4:50: routes[2].session.most must be between 1 and 10000000, is 0",
                #"5:34: routes[3].session.idle must be at least 1s, is "1ms""#,
                "5:40: routes[3].session: unknown key 'after', expected by, idle, as or most",
            ]),
        Broken(
            "emit rules with invalid parts",
            #"""
            {"providers":{"out":{"plugin":"console"}},"emit":[{},
            {"where":"1 + 1","event":{}},
            {"where":"true","event":{"context":1,"properties":{"a":[{"cel":"1 +"}]}}},
            {"where":"true","event":"slow"},
            {"where":"true","event":{"event":{"cel":5}},"when":1}],
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:51: emit[0]: lacks 'where': the condition in CEL under which an event makes another",
                #"1:51: emit[0]: lacks 'event': the members of the emitted event, in place of the original's: constants or {"cel": …}"#,
                "2:11: emit[1].where: a condition is true or false, but this gives int",
                "2:26: emit[1].event: must not be empty, expected an object of members with values",
                "3:26: emit[2].event: 'context' cannot be set, it follows from the original, expected other members",
                "3:68: emit[2].event.properties.a[0].cel: expected an expression, found the end of the expression",
                #"4:25: emit[3].event must be an object of members with values, is "slow""#,
                "5:41: emit[4].event.event.cel must be an expression in CEL, as a string, is 5",
                "5:45: emit[4]: unknown key 'when', expected where or event",
            ]),
        Broken(
            "no emit rules",
            #"""
            {"providers":{"out":{"plugin":"console"}},"emit":[],
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:50: emit: must not be empty, expected a list of rules"
            ]),
        Broken(
            "emit rules that would bypass the consent of the original",
            #"""
            {"consent":{"levels":["none","all"],"subject":["userId"],"default":"all","fields":{"traits.role":"all","a":"none"}},
            "providers":{"out":{"plugin":"console"}},"emit":[{"where":"traits.role == 'x'",
            "event":{"userId":"u","x":{"cel":"a"},"y":{"z":{"cel":"traits.role.name"}},"w":[{"cel":"size(traits)"}],"v":{"cel":"this"}}}],
            "routes":[{"to":["out"]}]}
            """#,
            [
                "3:19: emit[0].event.userId: the consent section looks for subjects there, expected another member",
                "3:43: emit[0].event.y: names traits.role, which the consent section cuts out of events, expected other members",
                "3:80: emit[0].event.w: names traits.role, which the consent section cuts out of events, expected other members",
                "3:109: emit[0].event.v: names traits.role, which the consent section cuts out of events, expected other members",
            ]),
        Broken(
            "a sample by a broken path",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"rate":0.5,"by":"context."},"to":["out"]}]}
            """#,
            [
                "2:47: routes[0].sample.by: 'context.' is not a path: expected a key"
            ]),
        Broken(
            "a sample that keeps by an invalid expression, by nothing, and by an unknown key",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"rate":0.5,"keep":{"where":"a == "}},"to":["out"]},
            {"sample":{"rate":0.5,"keep":{}},"to":["out"]},
            {"sample":{"rate":0.5,"keep":{"were":"a"}},"to":["out"]}]}
            """#,
            [
                "2:55: routes[0].sample.keep.where: expected an expression, found the end of the expression",
                "3:30: routes[1].sample.keep: must not be empty, expected events, where, or both",
                "4:31: routes[2].sample.keep: unknown key 'were', did you mean 'where'?",
            ]),
        Broken(
            "steps with wrong settings",
            #"""
            {"keys":{"ids":"0123456789abcdef"},"providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"keep":[]},{"rename":{"a":""}},{"rename":{"a":5}},{"move":{"a":"a.b","c":"d..e"}},
            {"default":{"a":{"cel":"b +"}}},{"bin":{"a":[]}},{"bin":{"a":[1,1]}},{"bin":{"a":["x"]}},{"bin":{"a":3}},
            {"round":{"a":0}},{"round":{"a":"week"}},{"round":{"a":1e3}},{"round":{"a":[]}},
            {"ip":{"fields":["a"],"v4":33}},{"ip":5},{"ip":{"v6":1}},{"limit":{"a":-1}},{"lower":"a"},
            {"geo":{"fields":["a"],"keep":["x","x"]}},{"hash":{"fields":["a"],"key":"ids","length":7}},{"set":{"a":{"cel":5}}}],"to":["out"]}]}
            """#,
            [
                #"2:33: routes[0].transform[0].keep: must not be empty, expected a list of paths"#,
                #"2:52: routes[0].transform[1].rename.a must be the name of a member, not empty, is """#,
                #"2:72: routes[0].transform[2].rename.a must be a string, is 5"#,
                #"2:89: routes[0].transform[3].move.a: 'a.b' is inside the member that is moved, expected a place outside it"#,
                #"2:102: routes[0].transform[3].move.c: 'd..e' is not a path: expected a key"#,
                #"3:28: routes[0].transform[4].default.a.cel: expected an expression, found the end of the expression"#,
                #"3:45: routes[0].transform[5].bin.a: must not be empty, expected a list of rising numbers"#,
                #"3:65: routes[0].transform[6].bin.a[1] must be greater than 1, the number before it, is 1"#,
                #"3:83: routes[0].transform[7].bin.a[0] must be a number, is "x""#,
                #"3:102: routes[0].transform[8].bin.a must be a list of rising numbers, is 3"#,
                #"4:15: routes[0].transform[9].round.a must be above 0, written without an exponent, with at most 9 digits after the decimal point, is 0"#,
                #"4:33: routes[0].transform[10].round.a must be "minute", "hour" or "day", is "week""#,
                #"4:56: routes[0].transform[11].round.a must be above 0, written without an exponent, with at most 9 digits after the decimal point, is 1e3"#,
                #"4:76: routes[0].transform[12].round.a must be a number, or "minute", "hour" or "day", is a list"#,
                #"5:28: routes[0].transform[13].ip.v4 must be between 0 and 32, is 33"#,
                #"5:39: routes[0].transform[14].ip must be a list of paths, or an object with 'fields', is 5"#,
                #"5:48: routes[0].transform[15].ip: lacks 'fields': the members that hold addresses"#,
                #"5:72: routes[0].transform[16].limit.a must be between 0 and 1000000, is -1"#,
                #"5:86: routes[0].transform[17].lower must be a list of paths, is "a""#,
                #"6:36: routes[0].transform[18].geo.keep[1]: 'x' is there twice, expected once"#,
                #"6:88: routes[0].transform[19].hash.length must be between 8 and 64, is 7"#,
                #"6:111: routes[0].transform[20].set.a.cel must be an expression in CEL, as a string, is 5"#,
            ]),
        Broken(
            "expressions, with their places behind escapes",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"where":"type == \"tr\u00e9ck\" && \ud83d\ude00","to":["out"]},
            {"where":"\ud83d\ude00","to":["out"]},
            {"where":"a == '\ud83d\ude00' and b","to":["out"]},
            {"where":"a\n\t== \"x\" && 'y' == 1","to":["out"]},
            {"where":"1 + 1","to":["out"]},
            {"where":5,"to":["out"]},
            {"where":"","to":["out"]},
            {"where":"${env:SECRET} == 'x'","to":["out"]}]}
            """#,
            [
                "2:47: routes[0].where: found '😀', which is allowed only inside quotes",
                "3:11: routes[1].where: found '😀', which is allowed only inside quotes",
                "4:31: routes[2].where: expected an operator or the end of the expression, found 'and'; 'and' is written &&",
                "5:32: routes[3].where: string is never equal to int: put the number in quotes, or convert with int() or double()",
                "6:11: routes[4].where: a condition is true or false, but this gives int",
                "7:10: routes[5].where must be an expression in CEL, as a string, is 5",
                "8:11: routes[6].where: expected an expression, found the end of the expression",
                "9:10: routes[7].where: an expression must be written out, without ${env:} and ${file:}",
            ]),
        Broken(
            "a sample that keeps a string",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"rate":0.5,"keep":"error_*"},"to":["out"]}]}
            """#,
            [
                #"2:40: routes[0].sample.keep must be a list of globs, or an object with events or where, is "error_*""#
            ]),
        Broken(
            "a transform of the wrong type",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":{"drop":["a"]},"to":["out"]}]}
            """#,
            [
                "2:24: routes[0].transform must be a list of operations, is an object"
            ]),
        Broken(
            "a transform of an unknown operation",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"dorp":["a"]},{"rename":{}},{},5],"to":["out"]}]}
            """#,
            [
                "2:26: routes[0].transform[0]: unknown operation 'dorp', did you mean 'drop'?",
                "2:50: routes[0].transform[1].rename: must not be empty, expected an object of paths with names",
                "2:54: routes[0].transform[2]: must not be empty, expected one of drop, set, hash, keep, rename, move, default, bin, round, ip, "
                    + "limit, lower, geo, flatten, scrub or mask",
                "2:57: routes[0].transform[3] must be an object of one operation, is 5",
            ]),
        Broken(
            "two operations in one",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"drop":["a"],"set":{"b":1}}],"to":["out"]}]}
            """#,
            [
                "2:25: routes[0].transform[0]: holds drop and set, expected one operation in each object, since their order matters"
            ]),
        Broken(
            "a scrub with unknown kinds and keys",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"scrub":{"find":["emial","ip","ip"],"in":["a.","messageId"],"action":"hide","with":{"mail":""}}},
            {"scrub":{"find":[],"in":[],"action":"drop","with":{"ip":"","card":5}}},{"scrub":[]},{"scrub":{"fields":[]}}],"to":["out"]}]}
            """#,
            [
                #"2:43: routes[0].transform[0].scrub.find[0] must be "token", "email", "iban", "card", "ip" or "phone", is "emial", did you mean "email"?"#,
                "2:56: routes[0].transform[0].scrub.find[2]: 'ip' is there twice, expected once",
                "2:71: routes[0].transform[0].scrub.in[0]: 'a.' is not a path: expected a key",
                "2:73: routes[0].transform[0].scrub.in[1]: the event's own messageId cannot be changed here, expected another path, or a drop of messageId",
                #"2:95: routes[0].transform[0].scrub.action must be "replace", "drop" or "reject", is "hide""#,
                "2:110: routes[0].transform[0].scrub.with: unknown kind 'mail', did you mean 'email'?",
                "3:18: routes[0].transform[1].scrub.find: must not be empty, expected a list of kinds",
                "3:26: routes[0].transform[1].scrub.in: must not be empty, expected a list of paths",
                "3:52: routes[0].transform[1].scrub.with: is used only with the action replace, but the action is drop",
                "3:68: routes[0].transform[1].scrub.with.card must be a string, is 5",
                "3:82: routes[0].transform[2].scrub must be an object, is a list",
                "3:96: routes[0].transform[3].scrub: unknown key 'fields', expected find, in, action or with",
            ]),
        Broken(
            "invalid masks",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"mask":{"pattern":"(","with":""}},{"mask":{"pattern":"a","with":"\\1"}},{"mask":{"with":"x"}},
            {"mask":{"pattern":"a\\C","with":"b"}},{"mask":{"pattern":"a"}},{"mask":{"pattern":5,"with":""}}],"to":["out"]}]}
            """#,
            [
                "2:44: routes[0].transform[0].mask.pattern: is not a pattern: RE2 cannot read this regular expression: missing ): (",
                #"2:90: routes[0].transform[1].mask.with: names group \1, and the pattern has none"#,
                "2:106: routes[0].transform[2].mask: lacks 'pattern': a regular expression (RE2)",
                #"3:20: routes[0].transform[3].mask.pattern: must not hold \C, which could cut a character in two"#,
                "3:48: routes[0].transform[4].mask: lacks 'with': the text that replaces each match",
                "3:84: routes[0].transform[5].mask.pattern must be a string, is 5",
            ]),
        Broken(
            "a drop of nothing",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"drop":[]},{"drop":"a"},{"drop":["a."]}],"to":["out"]}]}
            """#,
            [
                "2:33: routes[0].transform[0].drop: must not be empty, expected a list of paths",
                #"2:45: routes[0].transform[1].drop must be a list of paths, is "a""#,
                "2:62: routes[0].transform[2].drop[0]: 'a.' is not a path: expected a key",
            ]),
        Broken(
            "a set of nothing",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"set":{}},{"set":["a"]},{"set":{"a.":1}}],"to":["out"]}]}
            """#,
            [
                "2:32: routes[0].transform[0].set: must not be empty, expected an object of paths with values",
                "2:43: routes[0].transform[1].set must be an object of paths with values, is a list",
                "2:61: routes[0].transform[2].set: the key 'a.' is not a path: expected a key",
            ]),
        Broken(
            "a set of one path twice",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"set":{"a":1,"[\"a\"]":2}}],"to":["out"]}]}
            """#,
            [
                "2:39: routes[0].transform[0].set: 'a' is there twice, expected once"
            ]),
        Broken(
            "a hash without a key",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"hash":{"fields":["userId"]}}],"to":["out"]}]}
            """#,
            [
                "2:33: routes[0].transform[0].hash: lacks 'key': the name of a key of 'keys'"
            ]),
        Broken(
            "a hash with an unknown key",
            #"""
            {"keys":{"ids":"0123456789abcdef"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"hash":{"fields":["userId"],"key":"id"}}],"to":["out"]}]}
            """#,
            [
                "3:60: routes[0].transform[0].hash.key: unknown hashing key 'id', did you mean 'ids'?"
            ]),
        Broken(
            "a hash with a key in a file without keys",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"hash":{"fields":["userId"],"key":"ids"}}],"to":["out"]}]}
            """#,
            [
                "2:60: routes[0].transform[0].hash.key: unknown hashing key 'ids', expected a name from 'keys', which is empty"
            ]),
        Broken(
            "a hash of a hash",
            #"""
            {"keys":{"ids":"0123456789abcdef"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"hash":{"fields":["a"],"key":"ids"}},{"hash":{"fields":["b","a"],"key":"ids"}}],"to":["out"]}]}
            """#,
            [
                "3:86: routes[0].transform[1].hash.fields[1]: 'a' is hashed already in this route, expected once"
            ]),
    ]

    static let consent = [
        Broken(
            "consent without a section",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"consent":"standard","to":["out"]}]}
            """#,
            [
                "2:22: routes[0].consent: there is no consent section, expected one that names the levels"
            ]),
        Broken(
            "a route without a demand of consent",
            #"""
            {"consent":{"levels":["none","all"]},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "3:11: routes[0]: lacks 'consent', expected it here or 'default' in the consent section"
            ]),
        Broken(
            "consent without levels",
            #"""
            {"consent":{"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:12: consent: lacks 'levels': levels of consent in rising order, each with the purposes it needs"
            ]),
        Broken(
            "no levels",
            #"""
            {"consent":{"levels":{},"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:22: consent.levels: must not be empty, expected an object of levels"
            ]),
        Broken(
            "levels of the wrong type",
            #"""
            {"consent":{"levels":"all","default":"all"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:22: consent.levels must be an object of levels with their purposes, or a list of levels, is "all""#
            ]),
        Broken(
            "a level twice",
            #"""
            {"consent":{"levels":["a","b","a"],"default":"a"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:31: consent.levels[2]: 'a' is there twice, expected once"
            ]),
        Broken(
            "levels whose purposes do not grow",
            #"""
            {"consent":{"levels":{"low":["a","b"],"high":["a","c"]},"default":"low"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:46: consent.levels.high: lacks 'b' of the lower level 'low', expected every purpose of the levels below it"
            ]),
        Broken(
            "a purpose twice",
            #"""
            {"consent":{"levels":{"low":["a","a"]},"default":"low"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:34: consent.levels.low[1]: 'a' is there twice, expected once"
            ]),
        Broken(
            "an unknown level",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"consent":"standrad","to":["out"]}]}
            """#,
            [
                "3:22: routes[0].consent: unknown level 'standrad', did you mean 'standard'?"
            ]),
        Broken(
            "an unknown level without a near name",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"consent":"marketing","to":["out"]}]}
            """#,
            [
                "3:22: routes[0].consent: unknown level 'marketing', expected none, essential or standard"
            ]),
        Broken(
            "an unknown purpose",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"consent":{"level":"essential","purposes":["analitics","ads"]},"to":["out"]}]}
            """#,
            [
                "3:55: routes[0].consent.purposes[0]: unknown purpose 'analitics', did you mean 'analytics'?",
                "3:67: routes[0].consent.purposes[1]: unknown purpose 'ads', expected operations or analytics",
            ]),
        Broken(
            "purposes where the levels have none",
            #"""
            {"consent":{"levels":["none","all"],"default":{"purposes":["ads"]}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:60: consent.default.purposes[0]: unknown purpose 'ads', the levels name none"
            ]),
        Broken(
            "an empty demand",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"consent":{},"to":["out"]}]}
            """#,
            [
                "3:22: routes[0].consent: must not be empty, expected 'level' or 'purposes'"
            ]),
        Broken(
            "a demand of the wrong type",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"consent":2,"to":["out"]}]}
            """#,
            [
                "3:22: routes[0].consent must be the name of a level, or an object of 'level' and 'purposes', is 2"
            ]),
        Broken(
            "an unknown key of a demand",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"consent":{"levl":"none"},"to":["out"]}]}
            """#,
            [
                "3:23: routes[0].consent: unknown key 'levl', did you mean 'level'?"
            ]),
        Broken(
            "a policy that does not exist",
            #"""
            {"consent":{"levels":["none","all"],"unknown":"keep","default":"all"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:47: consent.unknown must be "deny", "hold" or {"assume": level}, is "keep""#
            ]),
        Broken(
            "events that are held without a ledger",
            #"""
            {"consent":{"levels":["none","all"],"unknown":"hold","default":"all"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:47: consent.unknown: holds events until their subjects consent, which only a ledger records, expected 'ledger' in 'consent'"
            ]),
        Broken(
            "events that are held by their region, without a ledger",
            #"""
            {"consent":{"levels":["none","all"],"unknown":{"by":"region","is":{"DE":"hold"},"else":"deny"},"default":"all"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:47: consent.unknown: holds events until their subjects consent, which only a ledger records, expected 'ledger' in 'consent'"
            ]),
        Broken(
            "invalid bounds of held events",
            #"""
            {"consent":{"levels":["none","all"],"default":"all","ledger":"ids","unknown":"hold",
            "hold":{"for":"0s","events":0,"bytes":"1","subject":{"events":1.5,"byte":"1MB"}}},
            "keys":{"ids":"0123456789abcdef"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"2:15: consent.hold.for must be between 1ms and 366d, is "0s""#,
                #"2:29: consent.hold.events must be between 1 and 1000000000, is 0"#,
                #"2:39: consent.hold.bytes must be a size such as "16MB" or "512KiB", is "1", did you mean "1B"?"#,
                #"2:63: consent.hold.subject.events must be a whole number, is 1.5"#,
                #"2:67: consent.hold.subject: unknown key 'byte', did you mean 'bytes'?"#,
            ]),
        Broken(
            "bounds of held events that are not an object",
            #"""
            {"consent":{"levels":["none","all"],"default":"all","ledger":"ids","unknown":"hold","hold":true},
            "keys":{"ids":"0123456789abcdef"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:92: consent.hold must be an object, is true"#
            ]),
        Broken(
            "a policy of an unknown level",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"unknown":{"assume":"esential"},"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:119: consent.unknown.assume: unknown level 'esential', did you mean 'essential'?"
            ]),
        Broken(
            "a policy of another type",
            #"""
            {"consent":{"levels":["none","all"],"unknown":3,"default":"all"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:47: consent.unknown must be "deny", "hold", {"assume": level}, or by or for with is and else, is 3"#
            ]),
        Broken(
            "a policy by a member and for a place",
            #"""
            {"consent":{"levels":["none","all"],"unknown":{"by":"region","for":"${env:SECRET}","is":{"DE":"deny"},"else":"deny"},"default":"all"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:47: consent.unknown: holds by and for, expected one of them; a value under 'is' can hold the other"
            ]),
        Broken(
            "incomplete policies by a member",
            #"""
            {"consent":{"levels":["none","all"],"unknown":{"by":"a..b","is":{}},"default":"all"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:47: consent.unknown: lacks 'else': the policy for events with another value or without one",
                "1:56: consent.unknown.by: 'a..b' is not a path: expected a key",
                "1:65: consent.unknown.is: must not be empty, expected an object of values with policies",
            ]),
        Broken(
            "policies without a member",
            #"""
            {"consent":{"levels":["none","all"],"unknown":{"is":{"DE":"no"},"else":{"assume":"al"}},"default":"all"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:47: consent.unknown: lacks 'by': the member of the event whose value decides",
                #"1:59: consent.unknown.is.DE must be "deny", "hold" or {"assume": level}, is "no""#,
                "1:82: consent.unknown.else.assume: unknown level 'al', did you mean 'all'?",
            ]),
        Broken(
            "invalid policies for a place",
            #"""
            {"consent":{"levels":["none","all"],"unknown":{"for":"${env:LEVEL}","is":{"a":{"for":"b","is":{},"else":"deny"},"b":{"by":"x","is":{"y":{"by":"z"}},"else":"deny"}}},"default":"all"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:47: consent.unknown: lacks 'else': the policy for any other value",
                "1:79: consent.unknown.is.a: lacks 'by': the member of the event whose value decides",
                "1:80: consent.unknown.is.a: unknown key 'for', expected by, is or else",
                "1:95: consent.unknown.is.a.is: must not be empty, expected an object of values with policies",
                "1:137: consent.unknown.is.b.is.y: lacks 'assume': the level to assume",
                "1:138: consent.unknown.is.b.is.y: unknown key 'by', expected assume",
            ]),
        Broken(
            "an emit rule that sets the member that chooses the policy",
            #"""
            {"consent":{"levels":["none","all"],"unknown":{"by":"region","is":{"US":{"assume":"all"}},"else":"deny"},"default":"all"},
            "emit":[{"where":"true","event":{"event":"b","region":"US"}}],
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "2:55: emit[0].event.region: the consent section chooses the policy for unknown subjects by it, expected another member"
            ]),
        Broken(
            "fields and events of unknown levels",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"fields":{"a.b":"detailed","a.":"none"},"events":{"x_*":"secret","":"none"},"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:115: consent.fields["a.b"]: unknown level 'detailed', expected none, essential or standard"#,
                "1:129: consent.fields: the key 'a.' is not a path: expected a key",
                "1:155: consent.events.x_*: unknown level 'secret', expected none, essential or standard",
                "1:164: consent.events: the key '' must be a glob on the event's name, not empty",
            ]),
        Broken(
            "a subject that is not a path",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"subject":["userId","a..b","userId"],"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:122: consent.subject[1]: 'a..b' is not a path: expected a key",
                "1:126: consent.subject[2]: 'userId' is there twice, expected once",
            ]),
        Broken(
            "an unknown purpose of the privacy control",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"gpc":["ads","analytics"],"default":"standard"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:106: consent.gpc[0]: unknown purpose 'ads', expected operations or analytics"
            ]),
        Broken(
            "a ledger with a key that does not exist",
            #"""
            {"consent":{"levels":["none","all"],"default":"all","ledger":"idz"},
            "keys":{"ids":"0123456789abcdef","old":"0123456789abcdeg"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:62: consent.ledger: unknown ledger key 'idz', did you mean 'ids'?"
            ]),
        Broken(
            "a ledger without keys",
            #"""
            {"consent":{"levels":["none","all"],"default":"all","ledger":{"key":"ids"}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:69: consent.ledger.key: unknown ledger key 'ids', expected a name from 'keys', which is empty"
            ]),
        Broken(
            "a ledger of the wrong type",
            #"""
            {"consent":{"levels":["none","all"],"default":"all","ledger":true,"minimum_version":2},
            "keys":{"ids":"0123456789abcdef","old":"0123456789abcdeg"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:62: consent.ledger must be the name of a key, or an object of 'key' and 'previous', is true",
                "1:85: consent.minimum_version must be a string, is 2",
            ]),
        Broken(
            "a ledger without its key",
            #"""
            {"consent":{"levels":["none","all"],"default":"all","ledger":{"previous":["old","ids","old"],"keep":1},"minimum_version":""},
            "keys":{"ids":"0123456789abcdef","old":"0123456789abcdeg"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:62: consent.ledger: lacks 'key': the key of 'keys' under which ids are hashed",
                "1:87: consent.ledger.previous[2]: 'old' is there twice, expected once",
                "1:94: consent.ledger: unknown key 'keep', expected key or previous",
                #"1:122: consent.minimum_version must be a name, not empty, is """#,
            ]),
        Broken(
            "a ledger whose key is also a previous one",
            #"""
            {"consent":{"levels":["none","all"],"default":"all","ledger":{"key":"ids","previous":["old","ids"]}},
            "keys":{"ids":"0123456789abcdef","old":"0123456789abcdeg"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:62: consent.ledger: names the same key as the current and as a previous one, expected another key"
            ]),
        Broken(
            "a ledger with keys that are used elsewhere",
            #"""
            {"consent":{"levels":["none","all"],"default":"all","ledger":{"key":"ids","previous":["old"]}},
            "keys":{"ids":"0123456789abcdef","old":"0123456789abcdeg"},"state":{"encrypt":"old"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"transform":[{"hash":{"fields":["a"],"key":"ids"}}],"to":["out"]}]}
            """#,
            [
                "1:62: consent.ledger: names the key that encrypts the state folder, expected a key that is used only here",
                "1:62: consent.ledger: names a key that routes use for hashing, expected a key that is used only here",
            ]),
        Broken(
            "a map of nothing",
            #"""
            {"consent":{"levels":{"none":[],"all":["operations","analytics"]},"default":"all",
            "map":{}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "2:7: consent.map: must not be empty, expected tcf, gpp, google or categories"
            ]),
        Broken(
            "a map with unknown formats",
            #"""
            {"consent":{"levels":{"none":[],"all":["operations","analytics"]},"default":"all",
            "map":{"iab":{},"tfc":{"analytics":{"purposes":[8]}}}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "2:8: consent.map: unknown key 'iab', expected tcf, gpp, google or categories",
                "2:17: consent.map: unknown key 'tfc', did you mean 'tcf'?",
            ]),
        Broken(
            "a map to an unknown purpose",
            #"""
            {"consent":{"levels":{"none":[],"all":["operations","analytics"]},"default":"all",
            "map":{"tcf":{"analitics":{"purposes":[8]}},"categories":{"ads":["C0004"]}}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "2:15: consent.map.tcf: unknown purpose 'analitics', did you mean 'analytics'?",
                "2:59: consent.map.categories: unknown purpose 'ads', expected operations or analytics",
            ]),
        Broken(
            "purposes and vendors that TCF does not have",
            #"""
            {"consent":{"levels":{"none":[],"all":["operations","analytics"]},"default":"all",
            "map":{"tcf":{"analytics":{"purposes":[0,25,8,8,"8"],"vendor":65536,"basis":["consent","legitimate_intrest"]},"operations":{"basis":[]}}}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "2:40: consent.map.tcf.analytics.purposes[0] must be between 1 and 24, is 0",
                "2:42: consent.map.tcf.analytics.purposes[1] must be between 1 and 24, is 25",
                "2:47: consent.map.tcf.analytics.purposes[3]: 8 is there twice, expected once",
                #"2:49: consent.map.tcf.analytics.purposes[4] must be a whole number, is "8""#,
                "2:63: consent.map.tcf.analytics.vendor must be between 1 and 65535, is 65536",
                #"2:88: consent.map.tcf.analytics.basis[1] must be "consent" or "legitimate_interest", is "legitimate_intrest", did you mean "legitimate_interest"?"#,
                "2:124: consent.map.tcf.operations: lacks 'purposes': the purposes of TCF that must all be allowed",
                "2:133: consent.map.tcf.operations.basis: must not be empty, expected a list of bases",
            ]),
        Broken(
            "unknown opt-outs and signals",
            #"""
            {"consent":{"levels":{"none":[],"all":["operations","analytics"]},"default":"all",
            "map":{"gpp":{"analytics":["sales"]},"google":{"analytics":["analytics"]},"categories":{"analytics":[""],"operations":"C0001"}}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"2:28: consent.map.gpp.analytics[0] must be "sale", "sharing", "targeted_advertising" or "sensitive_data", is "sales", did you mean "sale"?"#,
                #"2:61: consent.map.google.analytics[0] must be "ad_storage", "analytics_storage", "ad_user_data" or "ad_personalization", is "analytics""#,
                #"2:102: consent.map.categories.analytics[0] must be a name, not empty, is """#,
                #"2:119: consent.map.categories.operations must be a list of names, is "C0001""#,
            ]),
        Broken(
            "an unknown default",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"default":"standrd"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:109: consent.default: unknown level 'standrd', did you mean 'standard'?"
            ]),
    ]

    static let placeholders = [
        Broken(
            "a variable that is not set",
            #"""
            {"providers":{"out":{"plugin":"file","path":"${env:NOWHERE}/x"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:46: ${env:NOWHERE}: the environment variable 'NOWHERE' is not set"
            ]),
        Broken(
            "a file that is not there",
            #"""
            {"keys":{"ids":"${file:gone}"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:17: ${file:gone}: the file cannot be read: No such file or directory"
            ]),
        Broken(
            "a file that is not text",
            #"""
            {"keys":{"ids":"${file:binary}"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:17: ${file:binary}: the file is not UTF-8 text"
            ]),
        Broken(
            "a file that is too large",
            #"""
            {"keys":{"ids":"${file:large}"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:17: ${file:large}: the file is larger than 1MB"
            ]),
        Broken(
            "a placeholder of another kind",
            #"""
            {"providers":{"out":{"plugin":"file","path":"${HOME}/x"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:46: ${HOME}: no such placeholder, expected ${env:NAME} or ${file:PATH}; a plain ${ is written $${"
            ]),
        Broken(
            "a placeholder without a name",
            #"""
            {"providers":{"out":{"plugin":"file","path":"${env:}"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:46: ${env:}: no such placeholder, expected ${env:NAME} or ${file:PATH}; a plain ${ is written $${"
            ]),
        Broken(
            "a placeholder that is not closed",
            #"""
            {"providers":{"out":{"plugin":"file","path":"${env:SECRET"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:46: a placeholder is not closed, expected '}'; a plain ${ is written $${"
            ]),
        Broken(
            "several placeholders",
            #"""
            {"providers":{"out":{"plugin":"file","path":"a${env:A}b${env:B}"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:47: ${env:A}: the environment variable 'A' is not set",
                "1:56: ${env:B}: the environment variable 'B' is not set",
            ]),
        Broken(
            "a placeholder behind an escape",
            #"""
            {"providers":{"out":{"plugin":"file","path":"\t${env:A}"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:45: ${env:A}: the environment variable 'A' is not set"
            ]),
        Broken(
            "placeholders with wrong values",
            #"""
            {"consent":{"levels":{"none":[],"essential":["operations"],"standard":["operations","analytics"]},"default":"standard"},
            "providers":{"out":{"plugin":"${env:SECRET}"}},
            "routes":[{"events":["${env:EMPTY}"],"consent":"${env:SECRET}","sample":{"rate":"${env:SECRET}","by":"${env:SECRET}..x"},"transform":[{"hash":{"fields":["${env:EMPTY}"],"key":"${env:SECRET}"}}],"to":["out"]}]}
            """#,
            [
                "2:30: providers.out.plugin: the value of ${env:SECRET} is not a known module, installed: broken, console, file, noop and probe",
                "3:22: routes[0].events[0] must be a glob on the event's name, not empty, the value of ${env:EMPTY} is not",
                "3:48: routes[0].consent: the value of ${env:SECRET} is not a known level, expected none, essential or standard",
                "3:81: routes[0].sample.rate must be a number between 0 and 1, is a string",
                #"3:102: routes[0].sample.by must be a path such as context.ip, the value of "${env:SECRET}..x" is not"#,
                "3:154: routes[0].transform[0].hash.fields[0] must be a path such as context.ip, the value of ${env:EMPTY} is not",
                "3:176: routes[0].transform[0].hash.key: the value of ${env:SECRET} is not a known hashing key, expected a name from 'keys', which is empty",
            ]),
        Broken(
            "settings from outside with wrong values",
            #"""
            {"providers":{"out":{"plugin":"file","path":"a","mode":"${env:SECRET}","sync":"x${env:SECRET}","utc":"${env:SECRET}","rotate":{"bytes":"${env:SECRET}","every":"${file:key}"}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:56: providers.out.mode must be text that matches 0[0-7]{3}, the value of ${env:SECRET} is not",
                #"1:79: providers.out.sync must be "never", "rotation" or "batch", the value of "x${env:SECRET}" is not"#,
                "1:102: providers.out.utc must be true or false, is a string",
                #"1:136: providers.out.rotate.bytes must be a size such as "16MB" or "512KiB", the value of ${env:SECRET} is not"#,
                #"1:160: providers.out.rotate.every must be a time such as "500ms" or "24h", the value of ${file:key} is not"#,
            ]),
        Broken(
            "a secret for a provider's name",
            #"{"providers":{"out":{"plugin":"console"}},"routes":[{"to":["${env:SECRET}"]},{"name":"${env:SECRET}","to":["${env:OUT}","out"]},{"name":"${env:SECRET}","to":["out"]}]}"#,
            [
                "1:60: routes[0].to[0]: the value of ${env:SECRET} is not a known provider, expected out",
                "1:121: routes[1].to[1]: 'out' is there twice, expected once",
                "1:137: routes[2].name: the value of ${env:SECRET} is the name of another route, expected a different name",
            ]),
        Broken(
            "a key from outside used twice",
            #"""
            {"consent":{"levels":{"a":["${env:SECRET}"],"b":["${env:SECRET}","${env:SECRET}"],"c":[]},"default":"a"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:66: consent.levels.b[1]: the value of ${env:SECRET} is there twice, expected once",
                "1:87: consent.levels.c: lacks purposes of the lower level 'b', expected every purpose of the levels below it",
            ]),
        Broken(
            "everything at once",
            #"""
            {
              "version": 1,
              "keys": { "ids": "${env:SWITCHYARD_IDS_KEY}" },
              "providers": {
                "archive": { "plugin": "file", "path": "var/events.ndjson", "rotate": { "bytes": "100 MB" } },
                "screen": { "plugin": "consol" }
              },
              "routes": [
                { "name": "errors", "evnets": ["error_*"], "to": ["archive"] },
                { "name": "product", "match": { "type": "track" },
                  "sample": { "rate": 1.5, "by": "anonymousId" },
                  "transform": [ { "drop": ["context..ip"] }, { "hash": { "fields": ["userId"], "key": "idz" } } ],
                  "to": ["archive", "scren"] }
              ]
            }

            """#,
            [
                "3:21: ${env:SWITCHYARD_IDS_KEY}: the environment variable 'SWITCHYARD_IDS_KEY' is not set",
                #"5:86: providers.archive.rotate.bytes must be a size such as "16MB" or "512KiB", is "100 MB", did you mean "100MB"?"#,
                "6:27: providers.screen.plugin: unknown module 'consol', did you mean 'console'?",
                "9:25: routes[0]: unknown key 'evnets', did you mean 'events'?",
                "11:27: routes[1].sample.rate must be between 0 and 1, is 1.5",
                "12:42: routes[1].transform[0].drop[0]: 'context..ip' is not a path: expected a key",
                "12:92: routes[1].transform[1].hash.key: unknown hashing key 'idz', did you mean 'ids'?",
                "13:25: routes[1].to[1]: unknown provider 'scren', did you mean 'screen'?",
            ]),
        Broken(
            "purposes and levels from outside are not offered",
            #"""
            {"consent":{"levels":{"a":["${env:SECRET}"]},"default":{"purposes":["s3cr3t-of-sixteen-bytes-and-mor"]}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"consent":"b","to":["out"]}]}
            """#,
            [
                "1:69: consent.default.purposes[0]: unknown purpose 's3cr3t-of-sixteen-bytes-and-mor', expected one that 'levels' names",
                "3:22: routes[0].consent: unknown level 'b', expected a",
            ]),
        Broken(
            "levels from outside are not offered",
            #"""
            {"consent":{"levels":["${env:SECRET}","all"],"default":"s3cr3t-of-sixteen-bytes-and-mor"},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"consent":"b","to":["out"]}]}
            """#,
            [
                "1:56: consent.default: unknown level 's3cr3t-of-sixteen-bytes-and-mor', expected all",
                "3:22: routes[0].consent: unknown level 'b', expected all",
            ]),
    ]
}
