// Feeds random input to code that reads input from anyone: lines of events, also as adapters read them, descriptions and files of modules,
// frames of a module's process, answers of a program and of a server, heads and chunks of HTTP, request bodies of client libraries, whole
// requests with their codings, consent strings, and the files of an audit trail. It also feeds events with finds to `scrub` and `mask`,
// random events to random transforms, and events and answers to the modules of vendors.
// usage: fuzz [--target TARGET] [--seconds N] [--seed S] [--plant]; with an unknown target it lists the targets.
// Prints one line of sums. Exits with 1 if a difference is not explained, or if no input was valid. `--plant` falsifies our verdict in a
// rare case, which the fuzzer must then find. This proves that the fuzzer works.

@preconcurrency import Glibc

var target = "scanner"
var limit = 10.0
var seed: UInt64 = 1
var plants = false
var arguments = CommandLine.arguments.dropFirst()
func usage() -> Never {
    fputs(
        "usage: fuzz [--target scanner|event-reader|descriptor|library|frames|answers|replies|native|segment|otlp-protobuf|otlp-json|service|"
            + "http-head|http-chunks|scrub|mask|transforms|tcf|gpp|trail|every-byte|VENDOR-map|VENDOR-judge] "
            + "[--seconds N] [--seed S] [--plant]\n", stderr)
    fputs("VENDOR is \(VendorTargets.names.joined(separator: ", "))\n", stderr)
    exit(64)
}
while let argument = arguments.popFirst() {
    switch argument {
    case "--seconds":
        guard let value = arguments.popFirst().flatMap({ Double($0) }), value > 0 else { usage() }
        limit = value
    case "--seed":
        guard let value = arguments.popFirst().flatMap({ UInt64($0) }) else { usage() }
        seed = value
    case "--target":
        guard let value = arguments.popFirst() else { usage() }
        target = value
    case "--plant": plants = true
    default: usage()
    }
}

func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

var fuzzer: any Fuzzer =
    switch target {
    case "scanner": try ScannerFuzzer(seed: seed, plants: plants)
    case "event-reader": try EventReaderFuzzer(seed: seed, plants: plants)
    case "descriptor": DescriptorFuzzer(seed: seed, plants: plants)
    case "library": LibraryFuzzer(seed: seed, plants: plants)
    case "frames": FrameFuzzer(seed: seed, plants: plants)
    case "answers": AnswerFuzzer(seed: seed, plants: plants)
    case "replies": try ReplyFuzzer(seed: seed, plants: plants)
    case "native": DialectFuzzer.native(seed: seed, plants: plants)
    case "segment": DialectFuzzer.segment(seed: seed, plants: plants)
    case "otlp-protobuf": DialectFuzzer.protobuf(seed: seed, plants: plants)
    case "scrub": ScrubFuzzer(seed: seed, plants: plants)
    case "mask": try MaskFuzzer(seed: seed, plants: plants)
    case "transforms": StepFuzzer(seed: seed, plants: plants)
    case "otlp-json": DialectFuzzer.json(seed: seed, plants: plants)
    case "tcf": TCFFuzzer(seed: seed, plants: plants)
    case "gpp": GPPFuzzer(seed: seed, plants: plants)
    case "trail": try TrailFuzzer(seed: seed, plants: plants)
    case "every-byte": try EveryByte(seed: seed, plants: plants)
    case "http-head": HTTPHeadFuzzer(seed: seed, plants: plants)
    case "http-chunks": HTTPChunksFuzzer(seed: seed, plants: plants)
    case "service": ServiceFuzzer(seed: seed, plants: plants)
    default: if let vendor = try VendorTargets.fuzzer(target, seed: seed, plants: plants) { vendor } else { usage() }
    }
var inputs = 0
var valid = 0
var unexplained = 0
var explained: [String: Int] = [:]
let deadline = now() + limit
repeat {
    for _ in 0..<256 {
        inputs += 1
        let (comparison, input) = fuzzer.next()
        switch comparison {
        case .valid: valid += 1
        case .invalid: break
        case .explained(let why): explained[why, default: 0] += 1
        case .unexplained(let why):
            unexplained += 1
            if unexplained <= 10 { fputs("fuzz: \(why): \(String(reflecting: String(decoding: input, as: UTF8.self)))\n", stderr) }
        }
    }
    // A planted bug need be found only once.
} while now() < deadline && !fuzzer.isDone && !(plants && unexplained > 0)

let reasons = explained.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
print(
    "fuzz: \(target), seed \(seed), \(inputs) inputs, \(valid) valid, explained: \(reasons.isEmpty ? "none" : reasons), "
        + "unexplained \(unexplained)")
// A target that never had a valid input has tested only its first check.
exit(unexplained == 0 && valid > 0 ? 0 : 1)
