// Invalid files: the ledger, and the maps from consent in other formats.

extension Broken {
    static let ledger = [
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
                "1:62: consent.ledger: lacks 'key': the name of the key in 'keys' under which ids are hashed",
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
            "a ledger with a key under which a provider hashes",
            #"""
            {"consent":{"levels":["none","all"],"default":"all","ledger":"ids"},
            "keys":{"ids":"0123456789abcdef"},
            "providers":{"out":{"plugin":"console","transform":[{"hash":{"fields":["a"],"key":"ids"}}]}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:62: consent.ledger: names a key that providers use for hashing, expected a key that is used only here"
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
                "2:7: consent.map: must not be empty, expected tcf, gpp, google, categories or members"
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
                "2:8: consent.map: unknown key 'iab', expected tcf, gpp, google, categories or members",
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
                #"2:88: consent.map.tcf.analytics.basis[1] must be "consent", "legitimate_interest" or "implied_consent", is "legitimate_intrest", did you mean "legitimate_interest"?"#,
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
}
