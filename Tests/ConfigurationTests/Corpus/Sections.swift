// Invalid files: the sections, and the keys and limits in them.

extension Broken {
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
                "1:2: unknown key 'spool', expected $schema, version, keys, limits, message_id, state, audit, shutdown, admin, sources, consent, providers, emit, plan, routes or lint"
            ]),
        Broken(
            "allowances that are no numbers of findings",
            #"""
            {"lint":{"allow":["SY01","SY0101","SY0101"]},
            "providers":{"out":{"plugin":"console","lint":{}}},
            "routes":[{"to":["out"],"lint":{"allow":"SY0101"}}]}
            """#,
            [
                "1:19: lint.allow[0] must be the number of a finding, such as \"SY0103\", is \"SY01\"",
                "1:35: lint.allow[2]: 'SY0101' is there twice, expected once",
                "2:47: providers.out.lint: lacks 'allow': the numbers of the findings that are meant to be so here, such as \"SY0103\"",
                "3:41: routes[0].lint.allow must be a list of numbers, is \"SY0101\"",
            ]),
        Broken(
            "an unknown section that is a key of routes",
            #"""
            {"where":1,
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:2: unknown key 'where', expected $schema, version, keys, limits, message_id, state, audit, shutdown, admin, sources, consent, providers, emit, plan, routes or lint"
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
            "a page at an address that others can reach",
            #"""
            {"admin":{"listen":"0.0.0.0:9464","open":true,"page":true},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:54: admin.page: needs an address of this machine, since admin has no TLS; a proxy with TLS can show it, see 'origins'"
            ]),
        Broken(
            "an origin of the page that is not encrypted",
            #"""
            {"admin":{"page":true,"origins":["https://a.example","http://b.example"]},
            "providers":{"out":{"plugin":"console"}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:54: admin.origins[1] must be an origin with https such as "https://router.example", or with http one of this machine, is "http://b.example""#
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
    ]
}
