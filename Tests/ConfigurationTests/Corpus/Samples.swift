// Invalid files: samples, limits, sessions and emit rules.

extension Broken {
    static let samples = [
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
                "4:31: routes[2].sample.by: a limit does not use it, expected it in limit, or together with rate, rates or target",
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
                "3:43: emit[0].event.y: names traits.role, which the consent section removes from events, expected other members",
                "3:80: emit[0].event.w: names traits.role, which the consent section removes from events, expected other members",
                "3:109: emit[0].event.v: names traits.role, which the consent section removes from events, expected other members",
            ]),
        Broken(
            "emit rules that would copy a member that consent removes, in any form",
            #"""
            {"consent":{"levels":["none","all"],"default":"all","fields":{"traits.role":"all"}},
            "providers":{"out":{"plugin":"console"}},"emit":[{"where":"true","event":{
            "v0":{"cel":"traits['role']"},
            "v1":{"cel":"traits.?role.orValue('')"},
            "v2":{"cel":"[traits].map(t, t.role)"},
            "v3":{"cel":"cel.bind(t, traits, t.role)"},
            "v4":{"cel":"traits[event]"},
            "v5":{"cel":"traits.filter(k, k == 'r')"},
            "v6":{"cel":"{'a': traits}.a.role"},
            "v7":{"cel":"has(traits.role)"},
            "v8":{"cel":"json(traits)"},
            "v9":{"cel":"traits.n"}}}],
            "routes":[{"to":["out"]}]}
            """#,
            [
                "3:6: emit[0].event.v0: names traits.role, which the consent section removes from events, expected other members",
                "4:6: emit[0].event.v1: names traits.role, which the consent section removes from events, expected other members",
                "5:6: emit[0].event.v2: names traits.role, which the consent section removes from events, expected other members",
                "6:6: emit[0].event.v3: names traits.role, which the consent section removes from events, expected other members",
                "7:6: emit[0].event.v4: names traits.role, which the consent section removes from events, expected other members",
                "8:6: emit[0].event.v5: names traits.role, which the consent section removes from events, expected other members",
                "9:6: emit[0].event.v6: names traits.role, which the consent section removes from events, expected other members",
                "10:6: emit[0].event.v7: names traits.role, which the consent section removes from events, expected other members",
                "11:6: emit[0].event.v8: names traits.role, which the consent section removes from events, expected other members",
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
            "a sample that keeps a string",
            #"""
            {"providers":{"out":{"plugin":"console"}},
            "routes":[{"sample":{"rate":0.5,"keep":"error_*"},"to":["out"]}]}
            """#,
            [
                #"2:40: routes[0].sample.keep must be a list of globs, or an object with events or where, is "error_*""#
            ]),
    ]
}
