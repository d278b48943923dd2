// The contract: holds a built module against what every adapter promises. `switchyard-contract lib.so [CASES.json]`
//
// The checks run in a child process, so that a module that crashes, exits or hangs fails one of them and not the account.
// Standard output gets one line for each check and the sum, and nothing that a module writes.

import Foundation
import Glibc

let usage = """
    Usage: switchyard-contract [--patience SECONDS] LIBRARY.so [CASES.json]

    Holds a built provider module against the contract. CASES.json brings it to its outcomes:
      {"cases": [{"settings": {"path": "${dir}/out"}, "expects": "delivered"},
                 {"settings": {"path": "/dev/full"}, "expects": "retry", "events": [{"event": "a"}]}]}
    ${dir} is an empty folder, ${http} the address in SWITCHYARD_CONTRACT_HTTP. "expects" is delivered, rejected, retry, unknown, fault,
    closed, partial, or refused when no instance is to be made. "output" names what standard output is: a file such as /dev/full, or
    "left", a pipe without a reader. "arrives" names a file at the destination that has one more line for each event that has arrived: an
    event that is called delivered must be there at that moment.

    """

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
    FileHandle.standardError.write(Data(usage.utf8))
    exit(64)
}
exit(Overseer(patience: patience).run(words))
