// `switchyard plan infer`: reads the events in blocks of whole lines, so that its memory does not depend on their number.

internal import Events
internal import Glibc
internal import PlanTools
internal import Platform
internal import Terminal

func inferPlan(_ arguments: Arguments) throws -> Int32 {
    var inference: PlanInference
    if let member = arguments["--version"] {
        do throws(PathFault) {
            inference = PlanInference(version: try Path(parsing: member))
        } catch {
            throw UsageFault("--version must be a member of events, such as context.schema_version: \(error.message)")
        }
    } else {
        inference = PlanInference()
    }
    let file = arguments.rest.first ?? "-"
    do throws(SystemFault) {
        try EventLines.read(file, into: &inference)
    } catch {
        throw StateFailure("\(file == "-" ? "standard input" : printable(file)): \(error)")
    }
    guard inference.events > 0 else {
        if let fault = inference.firstFault { Console.say("line \(fault.line) is not an event: \(printable(fault.message))") }
        Console.say("plan infer takes events, was given none; for example: switchyard plan infer < events.ndjson")
        return ExitCode.invalidInput
    }
    let (plan, report) = inference.result
    try showPlan(plan)
    for line in report { Console.say(printable(line)) }
    return ExitCode.delivered
}

private enum EventLines {
    static let blockBytes = 1 << 20
    /// The most bytes of a line. A longer one is counted as invalid.
    static let longest = 16_000_000

    static func read(_ file: String, into inference: inout PlanInference) throws(SystemFault) {
        let number = file == "-" ? dup(0) : open(file, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw SystemFault() }
        let descriptor = Descriptor(owning: number)
        var chunk = [UInt8](repeating: 0, count: blockBytes)
        var block = Block()
        var rest: [UInt8] = []
        var isTooLong = false
        func flush(_ lines: ArraySlice<UInt8>) {
            block.removeAll()
            lines.withUnsafeBytes { block.text.append(contentsOf: $0) }
            block.seal()
            inference.read(block)
        }
        while true {
            let n = Glibc.read(descriptor.number, &chunk, chunk.count)
            if n < 0, errno == EINTR { continue }
            guard n >= 0 else { throw SystemFault() }
            if n == 0 { break }
            guard let last = chunk[..<n].lastIndex(of: UInt8(ascii: "\n")) else {
                if !isTooLong { rest += chunk[..<n] }
                if rest.count > longest {
                    isTooLong = true
                    rest = []
                }
                continue
            }
            var first = 0
            if isTooLong {
                inference.skipLine()
                first = chunk[..<n].firstIndex(of: UInt8(ascii: "\n"))! + 1
                isTooLong = false
            }
            rest += chunk[first...last]
            if first <= last { flush(rest[...]) }
            rest = Array(chunk[(last + 1)..<n])
        }
        if isTooLong { inference.skipLine() } else if !rest.isEmpty { flush(rest[...]) }
    }
}
