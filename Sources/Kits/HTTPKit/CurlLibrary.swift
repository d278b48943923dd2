// How a client gets libcurl. The library is loaded when the client first sends, since most of what a router with idle providers would
// otherwise hold in memory is this library with those that it needs.

internal import CCurl
internal import PluginKit

struct CurlLibrary: Sendable {
    /// True if there is a file with its name where the dynamic linker looks. It is not opened.
    var isFound: @Sendable () -> Bool
    /// Loads it. Returns nil, or the reason why it cannot be used, with the remedy. After a failure the next call tries again.
    var load: @Sendable () -> String?

    static let system = CurlLibrary(
        isFound: { ccurl_is_found() != 0 },
        load: {
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 500) { words in
                ccurl_load(words.baseAddress, words.count) != 0 ? nil : printable(String(cString: words.baseAddress!))
            }
        })
}
