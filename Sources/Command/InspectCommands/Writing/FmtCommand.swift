// `switchyard fmt`: writes files of JSON in one form. Only the space between tokens changes: the order, and every byte of a string or a number,
// stay.

internal import Document
internal import Platform
internal import Startup
public import Terminal

public let fmtCommand = Command(
    name: "fmt",
    about: "Writes configurations and files of tests in one form; the order and the values stay.",
    details: """
        FILE is any file of JSON; without it, routes.json. A value that fits on a line of 120 columns stays on one line, and a
        longer one is broken, with two spaces for each level. - reads standard input and writes standard output.

        With --check nothing is written: the exit code is 1 if a file has another form, and its name is printed. It is 78 if a
        file is not JSON.
        """,
    argument: "FILE",
    repeats: true,
    options: [Option(name: "--check", about: "write nothing, and name the files that have another form")],
    run: { arguments in
        var isOther = false
        for file in arguments.all.isEmpty ? [Loading.defaultFile] : arguments.all {
            let text = try read(file)
            let formed = try CanonicalForm.of(text, file: file)
            if file == "-", !arguments.has("--check") {
                try Console.show(String(decoding: formed, as: UTF8.self))
            } else if formed != text {
                isOther = true
                if !arguments.has("--check") { try save(formed, to: file) }
                try Console.show("\(printable(file))\n")
            }
        }
        return arguments.has("--check") && isOther ? ExitCode.noValue : ExitCode.delivered
    })

private func read(_ file: String) throws -> [UInt8] {
    switch Loading.input(file, most: Syntax.largest + 1) {
    case .success(let bytes): return bytes
    case .failure(let fault): throw ConfigurationFailure(lines: ["\(printable(file)): \(fault)"])
    }
}

enum CanonicalForm {
    static let width = 120

    /// Returns the text in its form. It ends with a line feed.
    static func of(_ text: [UInt8], file: String) throws -> [UInt8] {
        let source = Source(text)
        do throws(LocatedFault) {
            _ = try Outline.read(source, resolving: nil)
        } catch {
            let (line, column) = source.place(of: error.offset)
            throw ConfigurationFailure(lines: ["\(printable(file)):\(line):\(column): \(Words.visible(error.message))"])
        }
        let lines = JSONLayout.lines(String(decoding: text, as: UTF8.self), width: width, isVerbatim: true)
        return Array(lines.joined(separator: "\n").utf8) + [UInt8(ascii: "\n")]
    }
}
