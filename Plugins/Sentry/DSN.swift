// A DSN, by which Sentry names a project: https://KEY@HOST/PATH/PROJECT, with `:SECRET` after the key in an old one.

internal import VendorKit

struct DSN {
    /// The scheme, the host and the path before the project.
    let base: String
    let key: String
    let secret: String?
    let project: String

    /// A fault never shows the DSN.
    init(_ text: String) throws(SettingsFault) {
        let fault = SettingsFault("dsn is no DSN such as https://KEY@o1.ingest.sentry.io/2")
        guard let scheme = ["https://", "http://"].first(where: { text.hasPrefix($0) }) else { throw fault }
        let parts = text.dropFirst(scheme.utf8.count).split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, let slash = parts[1].lastIndex(of: "/") else { throw fault }
        let names = parts[0].split(separator: ":", omittingEmptySubsequences: false)
        let project = parts[1][parts[1].index(after: slash)...]
        let isWord: (Substring) -> Bool = { word in
            !word.isEmpty && word.utf8.allSatisfy { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 26 }
        }
        guard (1...2).contains(names.count), names.allSatisfy(isWord), isWord(project), parts[1][..<slash].first.map({ $0 != "/" }) ?? false
        else { throw fault }
        base = scheme + parts[1][..<slash]
        key = String(names[0])
        secret = names.count == 2 ? String(names[1]) : nil
        self.project = String(project)
    }
}
