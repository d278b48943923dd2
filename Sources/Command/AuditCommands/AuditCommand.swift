// `switchyard audit`: verifies the audit trail, and proves to others what is in it. It reads the files, so it works beside a router and
// without one.

internal import Audit
internal import Glibc
internal import Ledger
internal import MerkleLog
internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
public import Terminal

public let auditCommand = Command(
    name: "audit",
    about: "Verifies the audit trail of the state folder, and proves what was decided for an event.",
    details: """
        audit verify              verifies every entry, every hash and every kept text; with --head, also that nothing is lost at the end
        audit head                prints the newest signed head, to be kept elsewhere
        audit key                 prints the public key of the trail, for those who verify; --hashing prints the secret that hashes ids
        audit prove MESSAGE_ID    shows what was decided for an event, when and under which plan; --json prints proofs for others
        audit prove --subject ID  shows what the trail has about a person
        audit list                prints the entries, one JSON object per line
        audit export FOLDER       writes the trail as a static log (C2SP tlog-tiles), for a web server
        audit accept              goes on with a ledger that is behind the trail or is another one, and says so in the trail
        verify, head, list and export need no configuration if --key names the public key.
        """,
    argument: "ACTION",
    rest: ["ARGUMENT"],
    options: [
        configOption, stateOption,
        Option(name: "--key", value: "KEY", about: "the public key of the trail, as audit key prints it (default: from the configuration)"),
        Option(name: "--head", value: "FILE", about: "a head that was kept elsewhere (verify)"),
        Option(name: "--subject", about: "the id is that of a person (prove)"),
        Option(name: "--line", about: "the argument is the whole line of an event that has no messageId (prove)"),
        Option(name: "--hashing", about: "print the secret under which ids are hashed, for an auditor who may know ids (key)"),
        Option(name: "--json", about: "one JSON object per line: proofs that others can check (prove), or the findings (verify)"),
    ],
    run: { arguments in
        guard let action = arguments.argument else { throw UsageFault("expected \(Action.words); see switchyard audit --help") }
        guard let known = Action(rawValue: action) else {
            let near = nearest(to: action, among: Action.allCases.map(\.rawValue)).map { ", did you mean \($0)?" } ?? ","
            throw UsageFault("unknown action '\(action)'\(near) expected \(Action.words); see switchyard audit --help")
        }
        for (option, _) in arguments.values where !known.options.contains(option) { throw UsageFault("audit \(action) takes no \(option)") }
        guard arguments.rest.count == known.count else {
            throw UsageFault("audit \(action) takes \(known.count == 0 ? "no argument" : "one argument"); see switchyard audit --help")
        }
        let place = try AuditPlace(arguments)
        switch known {
        case .verify: return try verify(place, arguments)
        case .head: try Console.show(String(decoding: try place.head(), as: UTF8.self))
        case .key: try Console.show(try key(place, isHashing: arguments.has("--hashing")) + "\n")
        case .prove: return try prove(place, arguments)
        case .list: try list(place)
        case .export:
            let reader = try place.reader()
            let count = try place.failing { () throws(StorageFault) in try reader.export(to: arguments.rest[0]) }
            Console.say("\(grouped(count)) files were written to \(printable(arguments.rest[0]))")
        case .accept: try accept(place)
        }
        return ExitCode.delivered
    })

private enum Action: String, CaseIterable {
    case verify, head, key, prove, list, export, accept

    static var words: String {
        let words = allCases.map(\.rawValue)
        return words.dropLast().joined(separator: ", ") + " or " + words.last!
    }

    /// The number of arguments after the action.
    var count: Int { self == .prove || self == .export ? 1 : 0 }

    var options: [String] {
        let places = [configOption.name, stateOption.name]
        return switch self {
        case .verify: places + ["--key", "--head", "--json"]
        case .head, .list, .export: places + ["--key"]
        case .key: places + ["--hashing"]
        case .prove: places + ["--subject", "--line", "--json"]
        case .accept: places
        }
    }
}

// MARK: - The actions

private func verify(_ place: AuditPlace, _ arguments: Arguments) throws -> Int32 {
    var kept: (bytes: [UInt8], path: String)?
    if let file = arguments["--head"] {
        switch Loading.input(file, most: SignedNote.largest) {
        case .success(let bytes): kept = (bytes, file)
        case .failure(let fault): throw StateFailure("\(printable(file)): \(fault)")
        }
    }
    let found = try place.failing { () throws(StorageFault) in
        try TrailVerification.run(place.files.folder, keys: place.keys, kept: kept)
    }
    let ledger = try place.ledgerFault(found.ledger)
    let faults = found.faults + [ledger].compactMap(\.self)
    if arguments.has("--json") {
        func list(_ texts: [String]) -> String { "[\(texts.map(jsonQuoted).joined(separator: ","))]" }
        try Console.show(
            #"{"whole":\#(faults.isEmpty),"entries":\#(found.entries),"pruned":\#(found.pruned),"verdicts":\#(found.verdicts),"#
                + #""bytes":\#(found.bytes),"faults":\#(list(faults)),"unlisted":\#(found.unlisted),"notes":\#(list(found.notes))}"# + "\n")
    } else {
        for fault in faults { Console.say(printable(fault)) }
        if found.unlisted > 0 { Console.say("\(grouped(found.unlisted)) more faults are not listed") }
        for note in found.notes { Console.say("note: \(printable(note))") }
        let what = "\(grouped(found.entries)) entries, \(grouped(found.verdicts)) rows of verdicts, \(grouped(found.bytes)) bytes"
        let pruned = found.pruned > 0 ? "; of \(grouped(found.pruned)) entries only the hashes are left" : ""
        let head = kept == nil ? "; a loss at the end is found only with --head" : ""
        try Console.show(faults.isEmpty ? "the audit trail is whole: \(what)\(pruned)\(head)\n" : "the audit trail is NOT whole: \(what)\n")
    }
    return faults.isEmpty ? ExitCode.delivered : ExitCode.undelivered
}

private func key(_ place: AuditPlace, isHashing: Bool) throws -> String {
    let keys = try place.secretKeys()
    return isHashing ? hex(keys.hashing) : keys.name.description
}

private func list(_ place: AuditPlace) throws {
    let reader = try place.reader()
    var text = ""
    for index in 0..<reader.head.size {
        guard let entry = try place.failing({ () throws(StorageFault) in try reader.entry(index) }) else { continue }
        text += String(decoding: entry, as: UTF8.self) + "\n"
        guard text.utf8.count > 1 << 16 else { continue }
        try Console.show(text)
        text = ""
    }
    try Console.show(text)
}

private func accept(_ place: AuditPlace) throws {
    try place.accept()
    Console.say("the ledger is accepted as it is; the audit trail says so")
}
