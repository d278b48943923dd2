// Invalid files: placeholders, and values from outside.

extension Broken {
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
                "2:30: providers.out.plugin: the value of ${env:SECRET} is not a known module, installed: broken, console, file, log, noop and probe",
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
            {"providers":{"out":{"plugin":"file","path":"a","mode":"${env:SECRET}","sync":"x${env:SECRET}","utc":"${env:SECRET}","rotate":{"bytes":"${env:SECRET}","age":"${file:key}"}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:56: providers.out.mode must be text that matches 0[0-7]{3}, the value of ${env:SECRET} is not",
                #"1:79: providers.out.sync must be "never", "rotation" or "batch", the value of "x${env:SECRET}" is not"#,
                "1:102: providers.out.utc must be true or false, is a string",
                #"1:136: providers.out.rotate.bytes must be a size such as "16MB" or "512KiB", the value of ${env:SECRET} is not"#,
                #"1:158: providers.out.rotate.age must be a time such as "500ms" or "24h", the value of ${file:key} is not"#,
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
