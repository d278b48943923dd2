// The contract: checks that a built module keeps what every adapter promises. `switchyard-contract lib.so [CASES.json]`
//
// The checks run in a child process. If a module crashes, exits or hangs, one check fails, and the report is still complete up to there.
// Standard output gets one line for each check, notes, and the sum. It never gets anything that a module writes to its standard output.

import Glibc
import Platform

@main
struct Contract {
    static func main() {
        var words = Array(CommandLine.arguments.dropFirst())
        var patience = 10
        if words.first == "--patience", words.count > 1, let seconds = Int(words[1]), (1...3600).contains(seconds) {
            patience = seconds
            words.removeFirst(2)
        }
        signal(SIGPIPE, SIG_IGN)
        if words.first == "--child", words.count >= 2 {
            Suite(module: words[1], casesFile: words.count > 2 ? words[2] : nil, patience: patience).run()
            exit(0)
        }
        guard (1...2).contains(words.count), !words[0].hasPrefix("-") else {
            Array(usage.utf8).withUnsafeBytes { bytes in
                do throws(SystemFault) { try writeAll(2, bytes) } catch { exit(64) }
            }
            exit(64)
        }
        exit(Supervisor(patience: patience).run(words))
    }

    static let usage = """
        Usage: switchyard-contract [--patience SECONDS] LIBRARY.so [CASES.json]

        Checks a built module against the contract of providers, of sources, or of both, as it offers them. CASES.json lists settings and events that lead to each outcome:
          {"cases": [{"settings": {"path": "${dir}/out"}, "expects": "delivered"},
                     {"settings": {"path": "/dev/full"}, "expects": "retry", "events": [{"event": "a"}]}]}
        ${dir} is an empty folder. ${http} is the address of a server: /200 answers 200, any other status likewise, /reset ends the
        connection, and /keep${dir}/FILE appends the body to a file. SWITCHYARD_CONTRACT_HTTP names another server.
        "expects" is delivered, rejected, retry, unknown, fault, closed, partial, or refused if create must refuse the settings.
        "output" is the target of standard output: a file such as /dev/full, or "left" for a pipe without a reader. "arrives" is a file
        at the destination that gets one line for each event that arrives: when an event is reported as delivered, its line must
        already be there. Cases of a source are
          {"sources": [{"settings": {"command": ["cat", "${dir}/in"]}, "lines": 3, "ends": true}, {"settings": {}, "refused": true}]}
        "lines" is how many lines it hands over without an acknowledgement, and the same ones again if none was made.

        """
}
