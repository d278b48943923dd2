// `switchyard eval`: evaluates one expression on one event, for people who write routes and for scripts.

internal import Document
internal import Events
internal import Expressions
internal import Glibc
internal import Platform
internal import Startup
public import Terminal

public let evalCommand = Command(
    name: "eval",
    about: "Evaluates one expression on one event, and prints its value as JSON.",
    details: """
        EXPR is CEL, like `where` in a route. EVENT is a file that holds one event on one line; - is standard input. Without
        EVENT, standard input is read if the expression names a member. `source` is "stdin".

        The exit code is 0 with a value, 1 when the expression fails on the event (a missing member, a wrong type), 65 when
        the event is invalid, and 78 when the expression itself is wrong.
        """,
    argument: "EXPR",
    rest: ["EVENT"],
    run: evaluate)

private func evaluate(_ arguments: Arguments) throws -> Int32 {
    guard let text = arguments.argument else {
        throw UsageFault("eval needs an expression: switchyard eval 'properties.price > 10' event.json")
    }
    let expression: Expression
    do throws(ExpressionFault) {
        expression = try Expression(text)
    } catch {
        throw ConfigurationFailure(lines: ["expression:" + place(of: error.offset, in: text) + ": " + printable(error.message)])
    }
    var block = Block()
    let file = arguments.rest.first ?? "-"
    if !arguments.rest.isEmpty || !expression.paths.isEmpty {
        if file == "-", isatty(0) == 1 { Console.say("type or paste one event, then press Enter and Ctrl-D") }
        switch Loading.input(file, most: 1 << 30) {
        case .success(let bytes): bytes.withUnsafeBytes { block.text.append(contentsOf: $0) }
        case .failure(let fault):
            Console.say("\(file == "-" ? "standard input" : printable(file)): \(fault)")
            return ExitCode.undelivered
        }
    } else {
        block.text.append("{}")
    }
    block.seal()

    let paths = PathTrie(expression.paths)
    var scanner = Scanner(paths)
    var evaluator = Evaluator(ExpressionSet([expression], paths: paths), sources: ["stdin"])
    guard let event = scanner.scan(block.bytes, 0) else {
        if isBlank(block, from: 0) {
            Console.say("eval takes one event, was given none; for example: head -n 1 events.ndjson | switchyard eval 'has(userId)'")
            return ExitCode.invalidInput
        }
        Console.say("\(file == "-" ? "standard input" : printable(file)):1:\(Int(scanner.fault.offset) + 1): \(scanner.fault.message)")
        return ExitCode.invalidInput
    }
    guard isBlank(block, from: Int(scanner.lineEnd)) else {
        throw UsageFault("eval takes one event on one line; pick one with head -n 1, or put an event of several lines on one with jq -c .")
    }
    switch evaluator.value(0, event: event, around: EvaluationContext(now: Clock.system.wall())) {
    case .failure(let fault):
        Console.say("expression:\(place(of: fault.range.lowerBound, in: text)): " + printable(fault.description))
        return ExitCode.noValue
    case .success(let value):
        guard let json = value.json else {
            Console.say("the value cannot be printed as JSON: it is nested too deeply, or two keys of a map are the same text")
            return ExitCode.noValue
        }
        try Console.show(json + "\n")
        return ExitCode.delivered
    }
}

/// Returns the line and the column of an offset, as in messages about a file.
func place(of offset: Int, in text: String) -> String {
    assert((0...text.utf8.count).contains(offset), "the fault is not in the text")
    let (line, column) = Source(Array(text.utf8)).place(of: offset)
    return "\(line):\(column)"
}

private func isBlank(_ block: borrowing Block, from start: Int) -> Bool {
    for i in start..<block.count where block.bytes[i] > 0x20 { return false }
    return true
}
