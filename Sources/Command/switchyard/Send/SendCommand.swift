// `switchyard send`: posts lines to a running router. When it is run again, it continues where it stopped.

internal import Glibc
internal import Platform
internal import Sending
internal import Startup
internal import Terminal

let sendCommand = Command(
    name: "send",
    about: "Sends events, one JSON object per line, to a router over HTTP. When it is run again, it continues where it stopped.",
    details: """
        Without a file it sends standard input. A batch counts as sent when the router has answered for it; until then it is retried for as
        long as --retry allows. An event that the router rejects is reported with its file and line, and other events are not affected.
        The position in the files is kept in the state folder until all files are sent. With --resume it is kept in a file that stays: each
        later run sends what was added, and leaves an unfinished last line for the next run.
        The key comes from --key-file or SWITCHYARD_KEY.
        The exit code is 0 when every event was taken, 65 when some were rejected, and 69 when it stopped before the end.
        """,
    argument: "FILE",
    repeats: true,
    options: [
        Option(name: "--to", value: "URL", about: "http://HOST[:PORT], https://… or unix:/PATH (default: http://127.0.0.1:8088)"),
        Option(name: "--key-file", value: "FILE", about: "the file that holds the key for the router"),
        Option(name: "--ca", value: "FILE", about: "a PEM file of certificate authorities, instead of those of the system"),
        Option(name: "--batch", value: "N", about: "the most events in a request (default: 500)"),
        Option(name: "--retry", value: "SECONDS", about: "how long a batch is retried (default: 300)"),
        Option(name: "--resume", value: "FILE", about: "the file that keeps the position in the files"),
        Option(name: "--anew", about: "begin at the start of the files, however far they were sent"),
        stateOption,
    ],
    run: { arguments in
        let names = arguments.all.isEmpty ? ["-"] : arguments.all
        let to = arguments["--to"] ?? "http://127.0.0.1:8088"
        let target: Target
        do throws(Target.Fault) {
            target = try Target(to)
        } catch {
            throw UsageFault(error.message)
        }
        let inputs = try names.map(SendInput.init)
        let seconds = try arguments.number("--retry", in: 0...31_536_000) ?? 300
        var limits = LineBatches.Limits()
        if let events = try arguments.number("--batch", in: 1...100_000) { limits.events = events }
        do {
            let key = try SendKey.read(arguments["--key-file"])
            if key != nil, target.isExposed { Console.say("warning: over http:// the key can be read on its way; use https://") }
            let checkpoint = try openCheckpoint(arguments, inputs: inputs, to: to)
            let transport = try target.transport(key: key, authorities: arguments["--ca"])
            return try Request(
                to: to, by: transport, retry: .seconds(seconds), limits: limits, checkpoint: checkpoint, keeps: arguments.has("--resume")
            ).run(inputs)
        } catch let fault as TransportFault {
            throw StateFailure("\(printable(to)) \(fault.message)")
        } catch let fault as Checkpoint.Fault {
            throw StateFailure(fault.message)
        }
    })
/// Opens the checkpoint. Returns nil if none can be kept, for instance because an input cannot be read a second time.
private func openCheckpoint(_ arguments: Arguments, inputs: [SendInput], to: String) throws -> Checkpoint? {
    let path: String
    if let named = arguments["--resume"] {
        guard inputs.allSatisfy(\.isRegular) else {
            throw UsageFault("--resume needs files: a pipe cannot be read a second time")
        }
        path = named
    } else {
        guard inputs.allSatisfy(\.isRegular) else { return nil }
        let folder = Loading.stateFolder(arguments["--state"])
        do throws(SystemFault) {
            try makeFolder(folder, mode: 0o700)
        } catch {
            Console.say("\(printable(folder)): cannot be made: \(error); unless --resume names a file, the next run begins at the start")
            return nil
        }
        let words = ([to] + inputs.map(\.path)).joined(separator: "\0")
        path = "\(folder)/sending-\(String(fnv1a(words.utf8), radix: 16)).json"
    }
    if arguments.has("--anew") { unlink(path) }
    return try Checkpoint(path, target: to)
}

/// An input that is open.
private struct SendInput {
    let name: String
    let path: String
    let descriptor: Int32
    let isRegular: Bool
    let size: Int

    init(_ name: String) throws(StateFailure) {
        self.name = name == "-" ? "standard input" : printable(name)
        descriptor = name == "-" ? 0 : open(name, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw StateFailure("\(printable(name)): cannot be opened: \(SystemFault())")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw StateFailure("\(printable(name)): is a folder, expected a file") }
        isRegular = status.st_mode & S_IFMT == S_IFREG
        if isRegular, let form = SendInput.compression(descriptor) {
            let file = printable(name)
            throw StateFailure("\(file): is compressed with \(form.name); send what it holds: \(form.command) '\(file)' | switchyard send")
        }
        size = isRegular ? Int(status.st_size) : 0
        let real = name == "-" ? nil : realpath(name, nil)
        path = real.map { String(cString: $0) } ?? name
        free(real)
    }

    private static func compression(_ descriptor: Int32) -> FileBeginning.Compression? {
        var bytes = [UInt8](repeating: 0, count: FileBeginning.most)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return FileBeginning.compression(bytes.prefix(max(0, count)))
    }
}

private enum SendKey {
    /// Reads the key. It goes into a header, and is never shown.
    static func read(_ file: String?) throws -> String? {
        let text: String
        if let file {
            switch Loading.input(file, most: 64 << 10) {
            case .success(let bytes): text = String(decoding: bytes, as: UTF8.self)
            case .failure(let fault): throw StateFailure("\(printable(file)): the key cannot be read: \(fault)")
            }
            var status = stat()
            if stat(file, &status) == 0, status.st_mode & 0o007 != 0 {
                Console.say("warning: \(printable(file)) can be read by others: chmod 600 '\(printable(file))'")
            }
        } else if let variable = getenv("SWITCHYARD_KEY") {
            text = String(cString: variable)
        } else {
            return nil
        }
        let bytes = text.utf8.reversed().drop { $0 == 0x0a || $0 == 0x0d || $0 == 0x20 }.reversed()
        guard !bytes.isEmpty, bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw StateFailure("\(file.map(printable) ?? "SWITCHYARD_KEY"): expected a key of plain characters in one line")
        }
        return String(decoding: Array(bytes), as: UTF8.self)
    }
}

/// One run of the command.
private final class Request {
    private let to: String
    private let limits: LineBatches.Limits
    private let checkpoint: Checkpoint?
    private let keeps: Bool
    private let sender: Sender
    private let bar: ProgressBar

    init(to: String, by transport: any Transport, retry: Duration, limits: LineBatches.Limits, checkpoint: Checkpoint?, keeps: Bool) {
        self.to = printable(to)
        self.limits = limits
        self.checkpoint = checkpoint
        self.keeps = keeps
        let bar = ProgressBar()
        self.bar = bar
        var retries = Sender.Retries()
        retries.total = retry
        sender = Sender(
            to: self.to, by: transport, retries: retries,
            Sender.Dependencies(
                clock: .system,
                wait: { duration in _ = poll(nil, 0, Int32(clamping: duration.nanoseconds / 1_000_000 + 1)) },
                chance: { Int64.random(in: 0..<max(1, $0)) }, say: bar.say))
    }

    func run(_ inputs: [SendInput]) throws -> Int32 {
        let began = Clock.system.now()
        do {
            let places = inputs.map { checkpoint?.place(of: $0.descriptor) }
            let size = inputs.allSatisfy(\.isRegular) ? inputs.reduce(0) { $0 + $1.size } : nil
            bar.begin(size: size, before: places.reduce(0) { $0 + ($1?.offset ?? 0) }, of: "events")
            for (input, place) in zip(inputs, places) { try send(input, from: place) }
        } catch let fault as SendFault {
            bar.say(fault.message)
            bar.say("\(summary(since: began)); \(checkpoint == nil ? "stopped" : "stopped, run it again to continue")")
            return ExitCode.undelivered
        } catch {
            bar.clear()
            throw error
        }
        if !keeps { checkpoint?.remove() }
        bar.say(summary(since: began))
        return sender.counts.rejected > 0 ? ExitCode.invalidInput : ExitCode.delivered
    }

    private func send(_ input: SendInput, from place: Checkpoint.Place?) throws {
        if let place, place.line > 0 { bar.say("\(input.name): continuing after line \(grouped(place.line)); --anew begins at the start") }
        let offset = place?.offset ?? 0
        let batches = LineBatches(
            input.descriptor, limits: limits, from: offset, after: place?.line ?? 0, waitsForEnd: keeps && input.isRegular)
        let before = sender.counts.bytes
        try sender.send(batches, named: input.name) { offset, line in
            try keep(input, offset: offset, line: line)
            bar.show(bytes: input.isRegular ? offset : sender.counts.bytes - before, events: sender.counts.taken)
        }
        if checkpoint != nil { try keep(input, offset: batches.safeOffset, line: batches.line) }
        bar.finish(input.size)
        if batches.leftUnfinished { bar.say("\(input.name):\(batches.line + 1): this line is unfinished and is left for the next run") }
    }

    private func keep(_ input: SendInput, offset: Int, line: Int) throws {
        guard let checkpoint else { return }
        let mark: FileMark
        do throws(SystemFault) {
            mark = try FileMark(input.descriptor, upTo: offset)
        } catch {
            throw SendFault(message: "\(input.name): was truncated while it was read")
        }
        try checkpoint.move(to: Checkpoint.Place(mark: mark, offset: offset, line: line))
    }

    private func summary(since began: Instant) -> String {
        let counts = sender.counts
        let seconds = Double((Clock.system.now() - began).nanoseconds) / 1e9
        let rejected = counts.rejected == 0 ? "" : ", \(grouped(counts.rejected)) rejected"
        return "sent \(grouped(counts.taken)) events (\(amount(counts.bytes))) to \(to) in \(Int(seconds.rounded(.up))) s\(rejected)"
    }
}
