// Invalid files: levels and purposes, the demands of routes, the policies, and held events.

extension Broken {
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
                "1:12: consent: lacks 'levels': levels of consent in rising order, each with its purposes"
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
                "1:47: consent.unknown: lacks 'else': the policy for any other value of 'for'",
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
    ]
}
