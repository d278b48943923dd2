// Runs the required cases of the JSON Schema test suite for the draft 2020-12, which are not part of this repository, and prints the score.
// usage: switchyard-schema-conformance FOLDER    (a folder with `tests/draft2020-12` and `remotes`)
// Exits with 1 if a case fails that is not an exception, if an exception passes, or if less than 98 % pass. Exits with 64 if the usage is
// wrong, with 65 if a file is not valid, and with 69 if a file cannot be read.

import Document
import Events
@preconcurrency import Glibc
import JSONSchema

/// The cases that are expected to fail, each with its reason.
let exceptions: [String: String] = [
    "vocabulary.json/schema that uses custom metaschema with with no validation vocabulary/no validation: invalid number, but it still validates":
        "a metaschema of one's own takes no keywords away"
]

func say(_ text: String) { fputs("schema conformance: \(text)\n", stderr) }

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

func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name.hasSuffix(".json") { names.append(name) }
    }
    return names.sorted()
}

guard CommandLine.arguments.count == 2 else {
    say("usage: switchyard-schema-conformance FOLDER, the folder `json` of PyPI's jsonschema or a clone of JSON-Schema-Test-Suite")
    exit(64)
}
let folder = CommandLine.arguments[1]
let cases = "\(folder)/tests/draft2020-12"
let files = names(in: cases)
guard !files.isEmpty else {
    say("\(cases) has no cases")
    exit(69)
}

/// The documents that the suite serves at this address.
func remote(_ address: String) -> [UInt8]? {
    let server = "http://localhost:1234/"
    return address.hasPrefix(server) ? contents("\(folder)/remotes/\(address.dropFirst(server.count))") : nil
}

let store = Store()
var (passed, excepted, failed) = (0, 0, 0)
var isWrong = false

@MainActor func count(_ name: String, _ why: String?) {
    switch (why, exceptions[name]) {
    case (nil, nil): passed += 1
    case (nil, let reason?):
        passed += 1
        isWrong = true
        say("\(name) passes, but is an exception: \(reason)")
    case (_, _?): excepted += 1
    case (let why?, nil):
        failed += 1
        isWrong = true
        say("\(name): \(why)")
    }
}

for file in files {
    guard let bytes = contents("\(cases)/\(file)") else {
        say("\(cases)/\(file) cannot be read")
        exit(69)
    }
    let source = Source(bytes)
    guard let groups = try? Outline.read(source, resolving: nil).root.items else {
        say("\(file) is not a list of cases")
        exit(65)
    }
    let text = store.text(bytes)
    for group in groups {
        let about = group["description"]?.text?.value ?? ""
        var fault: String?
        var compiler = SchemaCompiler(resolving: remote)
        var root = 0
        do throws(SchemaFault) {
            root = try compiler.add(group["schema"]!, in: source)
        } catch {
            fault = "the schema is refused: \(error.message)"
        }
        let schema = compiler.finish()
        for test in group["tests"]?.items ?? [] {
            let name = "\(file)/\(about)/\(test["description"]?.text?.value ?? "")"
            guard case .bool(let isValid)? = test["valid"]?.value, let data = test["data"], fault == nil else {
                count(name, fault ?? "the case is incomplete")
                continue
            }
            var checker = SchemaChecker(schema)
            let violation = checker.check(text.base + data.offset, root: root)
            let found = violation.map { "violates \($0.keyword.rawValue)" } ?? "is valid"
            count(name, (violation == nil) == isValid ? nil : "\(found), expected the contrary")
        }
    }
}
let all = passed + excepted + failed
print("JSON Schema 2020-12: \(passed) of \(all) cases pass, \(excepted) are exceptions, \(failed) fail")
if Double(passed) < 0.98 * Double(all) {
    say("less than 98 % pass")
    isWrong = true
}
exit(isWrong ? 1 : 0)
