// The exit codes of the command. Scripts rely on them. They are listed in docs/operating.md and in `switchyard --help`.

public enum ExitCode {
    public static let delivered: Int32 = 0
    public static let noValue: Int32 = 1
    public static let usage: Int32 = 64
    public static let invalidInput: Int32 = 65
    public static let undelivered: Int32 = 69
    public static let `internal`: Int32 = 70
    public static let configuration: Int32 = 78

    public static let table: [(Int32, String)] = [
        (delivered, "every event was delivered, or waits on disk for the next run; the last message says how many"),
        (
            noValue,
            "an expression gave no value (eval); a test of routes failed (test); something was found (lint), has another form (fmt --check) or differs (diff) or breaks somebody (plan diff); a module cannot say it (--mapping, --to); a swap would lose something (--swap)"
        ),
        (usage, "the command was used wrongly"),
        (invalidInput, "some input was invalid (run: only with --strict)"),
        (undelivered, "something could not be delivered or read, or is lost or damaged; or another router has the state folder"),
        (`internal`, "a fault of the program itself"),
        (configuration, "the configuration or an expression is wrong, or the descriptor of --acks is not open"),
    ]
}
