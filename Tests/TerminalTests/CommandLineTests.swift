import Testing

@testable import Terminal

@Suite("The command line")
struct CommandLineTests {
    private let command = Command(
        name: "send", about: "Sends events.", argument: "FILE", rest: ["MORE"], repeats: true,
        options: [
            Option(name: "--to", short: "-t", value: "URL", about: "where to"),
            Option(name: "--http", value: "ADDRESS", isValueOptional: true, about: "listen"),
            Option(name: "--anew", about: "from the start"),
        ], run: { _ in 0 })

    private func parse(_ words: String...) throws(UsageFault) -> Arguments { try command.parse(words[...]) }

    private func fault(_ words: String...) -> String? {
        do throws(UsageFault) {
            _ = try command.parse(words[...])
            return nil
        } catch {
            return error.message
        }
    }

    @Test("takes a value after a space or after =, by the long or the short name")
    func values() throws {
        #expect(try parse("--to", "a")["--to"] == "a")
        #expect(try parse("--to=a=b")["--to"] == "a=b")
        #expect(try parse("-t", "a")["--to"] == "a")
        #expect(try parse("--http", "--anew").values == ["--http": "", "--anew": ""], "an optional value is not the next option")
    }

    @Test("takes every word after -- and every - as an argument")
    func words() throws {
        let arguments = try parse("one", "--anew", "-", "--", "--to")
        #expect(arguments.argument == "one" && arguments.rest == ["-", "--to"] && arguments.all == ["one", "-", "--to"])
        #expect(arguments.has("--anew") && !arguments.has("--to"))
    }

    @Test("takes a negative number and an expression that begins with - as an argument")
    func negative() throws {
        #expect(try parse("-1 + 2", "-a + 2", "-.5", "-(a)").all == ["-1 + 2", "-a + 2", "-.5", "-(a)"])
        #expect(fault("-a") == "unknown option '-a'; see switchyard send --help")
        #expect(fault("--anwe=a b") == "unknown option '--anwe', did you mean --anew? see switchyard send --help")
    }

    @Test("names what is wrong, and suggests the option that was probably meant")
    func faults() {
        #expect(fault("--anwe") == "unknown option '--anwe', did you mean --anew? see switchyard send --help")
        #expect(fault("--frobnicate") == "unknown option '--frobnicate'; see switchyard send --help")
        #expect(fault("--to") == "--to needs a value: --to URL")
        #expect(fault("--anew=1") == "--anew takes no value, was given '1'")
        #expect(fault("--anew", "--anew") == "--anew was given twice")
    }

    @Test("refuses more arguments than the command takes")
    func tooMany() {
        let one = Command(name: "check", about: "Checks.", argument: "FILE", run: { _ in 0 })
        #expect(throws: UsageFault.self) { try one.parse(["a", "b"]) }
        #expect(throws: UsageFault.self) { try Command(name: "run", about: "Runs.", run: { _ in 0 }).parse(["a"]) }
    }

    @Test("gives a suggestion only for a word that is nearly right")
    func nearby() {
        #expect(nearest(to: "chekc", among: ["check", "run"]) == "check")
        #expect(nearest(to: "xyz", among: ["check", "run"]) == nil)
        #expect(nearest(to: "ru", among: ["run"]) == "run")
    }
}

@Suite("A message on standard error")
struct LogFormatTests {
    @Test("stays on one line in logfmt and in JSON, and has its time", arguments: [LogFormat.logfmt, .json])
    func oneLine(format: LogFormat) {
        let line = format.line("a \"b\"\nc", at: 0)
        #expect(line.hasSuffix("\n") && line.dropLast().allSatisfy { !$0.isNewline })
        #expect(line.contains("1970-01-01T00:00:00") && line.contains(#"a \"b\"\nc"#))
    }

    @Test("has the name of the program in text")
    func text() { #expect(LogFormat.text.line("ending", at: 0) == "switchyard: ending\n") }

    @Test("has no other format, and the fault names them all")
    func unknown() {
        do throws(UsageFault) {
            _ = try LogFormat(word: "xml")
            Issue.record("xml was taken for a format")
        } catch {
            #expect(error.message == "--log must be text, logfmt or json, is 'xml'")
        }
    }
}
