// `switchyard consent import`: sends a file in pieces to the process that has the ledger, and shows bad lines with their numbers.

internal import Control
internal import Glibc
internal import Platform
internal import Terminal

struct ConsentInput {
    let name: String
    let descriptor: Int32
    /// The size in bytes. It is nil if the input is not a regular file.
    let size: Int?

    init(_ word: String) throws(StateFailure) {
        name = word == "-" ? "standard input" : printable(word)
        descriptor = word == "-" ? 0 : open(word, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else { throw StateFailure("\(name): cannot be opened: \(SystemFault())") }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw StateFailure("\(name): is a folder, expected a file") }
        size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    /// Reads the next bytes and returns their number. It is 0 at the end.
    func read(_ bytes: inout [UInt8]) throws(StateFailure) -> Int {
        while true {
            let count = Glibc.read(descriptor, &bytes, bytes.count)
            if count >= 0 { return count }
            guard errno == EINTR else { throw StateFailure("\(name): cannot be read: \(SystemFault())") }
        }
    }
}

final class ConsentImporting {
    /// The maximum number of bad lines that are shown. Further bad lines are only counted.
    private static let mostShown = 100

    private var request: LedgerRequest
    private let client: LedgerClient
    private let input: ConsentInput
    private let bar = ProgressBar()
    /// The numbers of lines: all, taken, late and bad.
    private var counts = [0, 0, 0, 0]
    private var shown = 0
    private let isJSON: Bool

    init(_ request: LedgerRequest, client: LedgerClient, input: ConsentInput) {
        self.request = request
        self.client = client
        self.input = input
        isJSON = request.values["json"] != nil
        self.request.values["json"] = nil
        self.request.values["session"] = String(UInt64.random(in: 0 ... .max), radix: 16)
    }

    func run() throws -> Int32 {
        bar.begin(size: input.size, of: "lines")
        defer { bar.clear() }
        var bytes = [UInt8](repeating: 0, count: Request.piece)
        var read = 0
        while true {
            let count = try input.read(&bytes)
            if count == 0 { break }
            read += count
            try take(Array(bytes[..<count]))
            bar.show(bytes: read, events: counts[0])
        }
        request.values["end"] = "1"
        try take([])
        if shown < counts[3] { bar.say("and \(grouped(counts[3] - shown)) more bad lines") }
        bar.clear()
        if isJSON {
            let names = ["lines", "taken", "late", "bad"]
            try Console.show("{\(zip(names, counts).map { "\"\($0)\":\($1)" }.joined(separator: ","))}\n")
        } else {
            bar.say(summary)
        }
        return counts[3] > 0 ? ExitCode.invalidInput : ExitCode.delivered
    }

    private func take(_ piece: [UInt8]) throws {
        let answer = String(decoding: try client.ask(request, piece: piece), as: UTF8.self)
        var lines = answer.split(separator: "\n")[...]
        let numbers = lines.popFirst()?.split(separator: " ").compactMap { Int($0) } ?? []
        guard numbers.count == counts.count else {
            throw StateFailure("the answer of the router is invalid; does the router have another version?")
        }
        counts = numbers
        for line in lines.prefix(ConsentImporting.mostShown - shown) {
            shown += 1
            bar.say("\(input.name):\(line)")
        }
    }

    private var summary: String {
        var text = "\(grouped(counts[1])) of \(grouped(counts[0])) lines were taken"
        if counts[2] > 0 { text += ", \(grouped(counts[2])) more went into the history, since later decisions were on record" }
        if counts[3] > 0 { text += ", \(grouped(counts[3])) are bad" }
        return text
    }
}
