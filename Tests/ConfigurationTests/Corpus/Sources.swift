// Invalid files: the sources.

extension Broken {
    static let sources = [
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
                "1:29: sources.web.plugin: unknown plugin 'httpd', did you mean 'http'?"
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
            "a source of a module with wrong keys",
            #"""
            {"sources":{"a":{"plugin":"log","topic":7,"in_flight":"1 parsec","offset":"x"}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:41: sources.a.topic must be a string, is 7",
                #"1:55: sources.a.in_flight must be a size such as "16MB" or "512KiB", is "1 parsec", the units are B, KB, MB, GB, KiB, MiB and GiB"#,
                "1:66: sources.a: unknown key 'offset', expected plugin, consent, in_flight, isolate, lint, topic or token",
            ]),
        Broken(
            "a source of a module that is only a provider",
            #"""
            {"sources":{"a":{"plugin":"console"}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:27: sources.a.plugin: the module 'console' is a provider, and offers no source; the sources of the router are "stdin", "http" and "file""#
            ]),
        Broken(
            "a provider of a module that is only a source",
            #"""
            {"providers":{"out":{"plugin":"log"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:31: providers.out.plugin: the module 'log' is a source, and offers no provider"
            ]),
        Broken(
            "an isolated source",
            #"""
            {"sources":{"a":{"plugin":"log","isolate":true}},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:43: sources.a.isolate: a source cannot be isolated; only a provider can, expected no 'isolate' here"
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
                #"1:17: sources.a: lacks 'plugin': the kind of source: "stdin", "http", "file", or the name of a module"#
            ]),
    ]
}
