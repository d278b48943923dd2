// `switchyard tap`: shows the events of a running router as they pass, with their verdicts.

internal import Control
internal import Platform
internal import Startup
internal import Tapping
public import Terminal

public let tapCommand = Command(
    name: "tap",
    about: "Shows the events of the router that has the state folder as they pass, one JSON object a line.",
    details: """
        STAGE is one of:
          in        every event that the routes judge, with all verdicts (the default)
          denied    a route denies the event because of consent
          filtered  the filter of a route does not take it
          sampled   a route leaves it out by its sample or its limit
          held      it waits for the consent of its subjects
          sent      a provider has confirmed it
          rejected  a provider has refused it for good
          dead      it was kept as a dead letter

        Values are masked as in explain. At in, denied and held, and where no route has asked for consent, only the names of the
        members are shown, not their values. With --raw nothing is masked but values from ${env:} or ${file:}; only the owner of the
        router and root may use it.

        Events are captured only while somebody looks, and the router never waits: what does not fit is not shown, and a line
        {"dropped":N} counts it. Each tap is an entry of the audit trail. It ends with --limit, with Ctrl-C or with the router.
        """,
    options: [
        stateOption,
        Option(name: "--stage", value: "STAGE", about: "what is shown (default: in)"),
        Option(name: "--route", value: "NAME", about: "only this route"),
        Option(name: "--provider", value: "NAME", about: "only this provider, and the routes to it"),
        Option(name: "--where", value: "CEL", about: "only events for which the expression is true"),
        Option(name: "--limit", value: "N", about: "end after N events"),
        Option(name: "--raw", about: "show the values as they are"),
    ],
    run: tap)

private func tap(_ arguments: Arguments) throws -> Int32 {
    let folder = Loading.stateFolder(arguments["--state"])
    let limit = try arguments.number("--limit", in: 1...Int(Int32.max))
    var members: [(name: String, value: String)] = []
    for name in ["stage", "route", "provider", "where"] {
        if let value = arguments["--" + name] { members.append((name, value)) }
    }
    if let limit { members.append(("limit", String(limit))) }
    if arguments.has("--raw") { members.append(("raw", "1")) }
    // Ctrl-C ends the tap at the router too. A second one ends the process.
    let stop = try WakeUp()
    Signals.endInput(by: stop)
    let number: Int
    do {
        let opened = try ControlClient.ask(
            folder: folder, Request(method: "POST", path: "/tap", body: Array(Form.text(members).utf8)), timeout: .seconds(60))
        let text = String(decoding: opened.body, as: UTF8.self)
        switch opened.status {
        case 200: number = Int(text.filter(\.isNumber)) ?? 0
        case 400, 404: throw UsageFault(text.trimmedLine)
        case 422: throw ConfigurationFailure(lines: [text.trimmedLine])
        default: throw StateFailure(text.trimmedLine)
        }
    } catch let fault as ControlFault {
        guard fault.kind == .nobody else { throw StateFailure(fault.description) }
        throw StateFailure("no router answers at \(printable(folder)); --state names another folder")
    }
    return try show(number, of: folder, limit: limit, stop: stop)
}

/// Shows the events of the tap until it ends.
private func show(_ number: Int, of folder: String, limit: Int?, stop: WakeUp) throws -> Int32 {
    var left = limit
    var dropped = 0
    defer { if dropped > 0 { Console.say("\(grouped(dropped)) events were not shown, because they came too fast") } }
    while true {
        let answer: (status: Int, body: [UInt8])
        do throws(ControlFault) {
            answer = try ControlClient.ask(folder: folder, Request(method: "POST", path: "/tap/\(number)"))
        } catch {
            Console.say("the router has ended, or does not answer any more")
            return ExitCode.undelivered
        }
        guard answer.status == 200 else {
            Console.say("the router has ended the tap")
            return ExitCode.undelivered
        }
        for line in answer.body.split(separator: 0x0a) {
            if let count = droppedCount(line) { dropped += count } else { left = left.map { $0 - 1 } }
        }
        do throws(SystemFault) {
            try Console.show(String(decoding: answer.body, as: UTF8.self))
        } catch {
            close(number, of: folder)
            throw error
        }
        // An answer takes a second at most, so the tap ends within that time.
        if stop.isRaised || left.map({ $0 <= 0 }) ?? false {
            close(number, of: folder)
            return ExitCode.delivered
        }
    }
}

private func close(_ number: Int, of folder: String) {
    _ = try? ControlClient.ask(folder: folder, Request(method: "POST", path: "/tap/\(number)/end"))
}

/// Returns the number in a line that says how many events were not shown, or nil if it is a line of an event.
private func droppedCount(_ line: ArraySlice<UInt8>) -> Int? {
    let head = Array("{\"dropped\":".utf8)
    guard line.starts(with: head) else { return nil }
    return Int(String(decoding: line.dropFirst(head.count).dropLast(), as: UTF8.self))
}

extension String {
    fileprivate var trimmedLine: String { hasSuffix("\n") ? String(dropLast()) : self }
}
