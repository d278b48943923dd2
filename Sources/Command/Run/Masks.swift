// What no message shows: the hidden texts of every plan that the run has gone by, since an old one may still be at work.

import Document
import Platform

final class Masks: Sendable {
    /// A router that is reloaded for years keeps those of its last plans.
    private static let most = 16
    private let texts: Monitor<[HiddenTexts]>

    init(_ texts: HiddenTexts) { self.texts = Monitor([texts]) }

    func add(_ more: HiddenTexts) {
        texts.withLock { texts in
            if !more.isEmpty { texts.append(more) }
            if texts.count > Masks.most { texts.removeFirst() }
        }
    }

    func masked(_ text: String) -> String { texts.withLock { $0 }.reduce(text) { $1.masked($0) } }
}
