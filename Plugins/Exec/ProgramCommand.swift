// The settings of a program that the provider or the source runs, checked.

internal import PluginKit

struct ProgramCommand: Sendable {
    let words: [String]
    let environment: [String]
    var name: String { words[0] }

    /// Reads `command` and `environment`. It starts nothing: `switchyard check` also makes an instance.
    init(_ settings: Settings) throws(SettingsFault) {
        let command: [String] = try settings.require("command")
        guard let name = command.first, !name.isEmpty else { throw SettingsFault("'command' must name a program") }
        let own = settings.get("environment", as: Settings.self)
        let names = own?.names ?? []
        if let bad = names.first(where: { $0.isEmpty || $0.contains("=") || $0.utf8.contains(0) }) {
            throw SettingsFault("'environment' cannot hold a variable with the name '\(bad)'")
        }
        guard !(command + names.map { own?.get($0) ?? "" }).contains(where: { $0.utf8.contains(0) }) else {
            throw SettingsFault("'command' and the values of 'environment' must not contain the character U+0000")
        }
        do throws(SystemFault) {
            _ = try Process.find(name)
        } catch {
            throw SettingsFault("the program \(name) cannot be started: \(error)")
        }
        words = command
        environment = Process.cleanEnvironment(names.map { ($0, own?.get($0) ?? "") })
    }

    /// Logs what the program writes to standard error. The router makes each line safe to show, masks secrets in it, and adds the name of
    /// the provider or the source.
    static func tell(_ heard: ErrorPipe.Output, _ log: (Host.Level, String) -> Void) {
        switch heard {
        case .line(let bytes): log(.information, String(decoding: bytes, as: UTF8.self))
        case .tooMany(let most):
            log(.warning, "writes more than \(most) lines a second to standard error; the others are left out and counted")
        case .leftOut(let count): log(.warning, "\(grouped(count)) lines of its standard error were left out")
        }
    }
}
