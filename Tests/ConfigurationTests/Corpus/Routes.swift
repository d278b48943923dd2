// Invalid files: the routes, with the events that they take and exclude.

extension Broken {
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
                "2:12: routes[0]: unknown key 'emit', expected name, events, match, not, where, else, consent, sample, session, retention, transform, to or lint"
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
            {"not":{"where":"1","when":"a"},"to":["out"]},
            {"not":{"events":[],"match":{"a..b":1}},"to":["out"]}]}
            """#,
            [
                "2:18: routes[0].not: must not be empty, expected events, match or where",
                "3:8: routes[1].not must be an object, is a list",
                "4:18: routes[2].not.where: a condition is true or false, but this gives int",
                "4:21: routes[2].not: unknown key 'when', expected events, match or where",
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
    ]
}
