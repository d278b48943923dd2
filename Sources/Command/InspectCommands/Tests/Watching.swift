// Runs tests again whenever a file that they were read from changes, until it is told to end. What was shown stays on the screen. A file that
// is wrong, or missing for a moment, is reported as without the option, and the next change runs the tests again.

internal import Platform
internal import Startup
internal import Terminal

/// Says which files change. Files are noted before they are read, so that no change is missed.
protocol ChangeSource: AnyObject {
    /// Forgets the files of the last run.
    func begin()
    @discardableResult func note(_ path: String) -> SystemFault?
    /// The number of files that are noted.
    var count: Int { get }
    /// Waits for changes of the noted files and returns their paths. Returns nil if it is told to end.
    func next() throws(SystemFault) -> [String]?
}

extension FileChanges: ChangeSource {}

enum Watching {
    /// Returns the exit code of the last run. `say` gets one line before and one line after each wait.
    static func run(_ changes: some ChangeSource, say: (String) -> Void, round: () throws -> Int32) throws -> Int32 {
        while true {
            changes.begin()
            let code = try outcome(say, round)
            say("waiting for a change of \(changes.count == 1 ? "1 file" : "\(changes.count) files"); Ctrl-C ends")
            guard let changed = try changes.next() else { return code }
            say("\(changed.map(printable).joined(separator: ", ")) changed")
        }
    }

    /// What a person can mend while the tests are watched does not end the watch.
    private static func outcome(_ say: (String) -> Void, _ round: () throws -> Int32) throws -> Int32 {
        do {
            return try round()
        } catch let failure as ConfigurationFailure {
            failure.lines.forEach(say)
            return ExitCode.configuration
        } catch let failure as StateFailure {
            say(failure.message)
            return ExitCode.undelivered
        }
    }
}
