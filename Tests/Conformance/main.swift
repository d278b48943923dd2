// Runs the conformance cases of the CEL specification, which are not part of this repository, and prints the score of each file.
// usage: switchyard-conformance FOLDER    (tests/simple/testdata of cel-spec)
// Exits with 1 if a case fails that is not an exception, if an exception passes, or if less than 97 % pass. Exits with 64 if the usage is
// wrong, with 65 if a file is not valid, and with 69 if a file cannot be read.

import Expressions
@preconcurrency import Glibc

func say(_ text: String) { fputs("conformance: \(text)\n", stderr) }

func contents(_ path: String) -> [UInt8]? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = fread(&chunk, 1, chunk.count, file)
        if count == 0 { return bytes }
        bytes += chunk[..<count]
    }
}

guard CommandLine.arguments.count == 2 else {
    say("usage: switchyard-conformance FOLDER, the tests/simple/testdata of a clone of cel-spec")
    exit(64)
}
let folder = CommandLine.arguments[1]
var sums = (passed: 0, excepted: 0, failed: 0, skipped: 0)
var isWrong = false
for file in scope {
    guard let text = contents("\(folder)/\(file).textproto") else {
        say("\(folder)/\(file).textproto cannot be read; \(folder) must be the tests/simple/testdata of cel-spec")
        exit(69)
    }
    let fields: [Field]
    do {
        fields = try TextProto.read(text)
    } catch {
        say("\(file).textproto: \(error)")
        exit(65)
    }
    var score = (passed: 0, excepted: 0, failed: 0, skipped: 0)
    for section in fields.messages("section") {
        for test in section.messages("test") {
            let name = "\(file)/\(section.string("name"))/\(test.string("name"))"
            let one = Case(name: name, fields: test)
            switch (one.run(), exceptions[name]) {
            case (.passed, nil): score.passed += 1
            case (.passed, let reason?):
                score.passed += 1
                isWrong = true
                say("\(name) passes, but is an exception: \(reason)")
            case (.failed, _?): score.excepted += 1
            case (.failed(let why), nil):
                score.failed += 1
                isWrong = true
                say("\(name): \(one.expression): \(why)")
            case (.needsProtocolBuffers, _): score.skipped += 1
            }
        }
    }
    let padded = file + String(repeating: " ", count: max(0, 16 - file.count))
    print(
        "\(padded) \(score.passed) of \(score.passed + score.excepted + score.failed) pass, \(score.excepted) excepted, "
            + "\(score.failed) fail; \(score.skipped) need protocol buffers")
    sums.passed += score.passed
    sums.excepted += score.excepted
    sums.failed += score.failed
    sums.skipped += score.skipped
}
let total = sums.passed + sums.excepted + sums.failed
let share = Double(sums.passed) / Double(max(1, total))
print(
    "all              \(sums.passed) of \(total) pass (\((share * 1000).rounded(.down) / 10) %), \(sums.excepted) excepted, "
        + "\(sums.failed) fail; \(sums.skipped) need protocol buffers")
exit(isWrong || share < 0.97 ? 1 : 0)
