// Invalid files: providers, with their settings, delivery and queues.

extension Broken {
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
                "1:21: providers.out: lacks 'plugin', expected the name of a module; installed: broken, console, file, log, noop and probe"
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
                "1:31: providers.out.plugin: unknown module 'kafka', installed: broken, console, file, log, noop and probe"
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
            "an invalid filter and transform of a provider",
            #"""
            {"providers":{"out":{"plugin":"console","filter":{"event":"x","where":"1 + 1","not":{}},"transform":[{"drop":["a..b"]},{"hash":{"fields":["a"],"key":"ids"}}]},
            "two":{"plugin":"console","filter":{},"transform":{}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:51: providers.out.filter: unknown key 'event', did you mean 'events'?",
                "1:72: providers.out.filter.where: a condition is true or false, but this gives int",
                "1:85: providers.out.filter.not: must not be empty, expected events, match or where",
                "1:114: providers.out.transform[0].drop[0]: 'a..b' is not a path: expected a key",
                "1:150: providers.out.transform[1].hash.key: unknown hashing key 'ids', expected a name from 'keys', which is empty",
                "2:36: providers.two.filter: must not be empty, expected at least one of events, match, not or where",
                "2:51: providers.two.transform must be a list of operations, is an object",
            ]),
        Broken(
            "the source of an event at the hand-over, where it is not known",
            #"""
            {"providers":{"out":{"plugin":"console","filter":{"where":"a == 1 && source == 'web'"},
            "transform":[{"set":{"s":{"cel":"source"},"at":{"cel":"now"}}},{"default":{"s":{"cel":"[1].map(x, source + 'x')[0]"}}}]}},
            "routes":[{"where":"source == 'web'","to":["out"]}]}
            """#,
            [
                "1:70: providers.out.filter.where: the source of an event is not known when it is handed over, since queues do not keep it; compare it in the route, or let the route write it into the event",
                "2:34: providers.out.transform[0].set.s.cel: the source of an event is not known when it is handed over, since queues do not keep it; compare it in the route, or let the route write it into the event",
                "2:99: providers.out.transform[1].default.s.cel: the source of an event is not known when it is handed over, since queues do not keep it; compare it in the route, or let the route write it into the event",
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
                "1:41: providers.out: unknown key 'sandbox', expected plugin, delivery, isolate, filter, transform, lint, format or stream"
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
            "settings by the names that they had before",
            #"""
            {"providers":{"out":{"plugin":"file","path":"a","rotate":{"every":"1h","compress":"gzip"}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                "1:59: providers.out.rotate: unknown key 'every', it is called 'age' now",
                "1:72: providers.out.rotate: unknown key 'compress', it is called 'compression' now",
            ]),
        Broken(
            "invalid nested settings",
            #"""
            {"providers":{"out":{"plugin":"file","path":"a","rotate":{"bytes":"1mb","age":"1 h","keep":0,"kep":1}}},
            "routes":[{"to":["out"]}]}
            """#,
            [
                #"1:67: providers.out.rotate.bytes must be a size such as "16MB" or "512KiB", is "1mb", did you mean "1MB"?"#,
                #"1:79: providers.out.rotate.age must be a time such as "500ms" or "24h", is "1 h", did you mean "1h"?"#,
                "1:92: providers.out.rotate.keep must be between 1 and 1000, is 0",
                "1:94: providers.out.rotate: unknown key 'kep', did you mean 'keep'?",
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
}
