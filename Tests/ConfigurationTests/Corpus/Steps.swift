// Invalid files: the steps of a transform, and the expressions of routes.

extension Broken {
    static let steps = [
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
                #"5:86: routes[0].transform[17].lower must be a list of paths, or an object with 'fields', is "a""#,
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
                #"2:43: routes[0].transform[0].scrub.find[0] must be "token", "key", "email", "iban", "card", "national_id", "mac", "ip" or "phone", is "emial", did you mean "email"?"#,
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
                "3:96: routes[0].transform[3].scrub: unknown key 'fields', expected find, countries, in, action or with",
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
}
