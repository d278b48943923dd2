// Makes the requests of a batch: from its bytes alone, or by the expressions of the settings.

internal import ExpressionKit
internal import HTTPKit
internal import PluginKit

enum BodyMaker {
    case plain(Packer)
    case built(BodyBuilder)

    /// `note` gets a line for the log when an answer holds something that it should not.
    init(_ rules: HTTPRules, compression: Compression, note: @escaping @Sendable (String) -> Void) throws(SettingsFault) {
        guard let form = rules.body.form, rules.body.isPlain, rules.answers == nil else {
            self = .built(
                try BodyBuilder(
                    rules.body, answers: rules.answers, target: rules.target, compression: compression, secrets: rules.secrets, note: note))
            return
        }
        self = .plain(try Packer(form, compression))
    }

    /// Returns the requests, or nil if there is no memory for the compression.
    func requests(_ lines: Lines, arrivals: UnsafeBufferPointer<Int64>) -> (any Requests)? {
        switch self {
        case .plain(let packer): packer.pack(lines)
        case .built(let builder): builder.requests(lines, arrivals: arrivals)
        }
    }
}
