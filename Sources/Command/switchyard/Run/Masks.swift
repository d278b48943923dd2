// Masks texts that no message may show: the hidden texts of the current plan, and of earlier ones, since parts of them may still be active.

internal import Document
internal import Platform

final class Masks: Sendable {
    /// The number of plans whose texts are kept. It limits the memory of a router that is reloaded for years.
    private static let most = 16
    private let texts: Monitor<[HiddenTexts]>

    init(_ texts: HiddenTexts) { self.texts = Monitor([texts]) }

    func add(_ more: HiddenTexts) {
        texts.withLock { texts in
            if !more.isEmpty { texts.append(more) }
            if texts.count > Masks.most { texts.removeFirst() }
            assert((1...Masks.most).contains(texts.count), "the texts of the current plan are not kept")
        }
    }

    func masked(_ text: String) -> String { texts.withLock { $0 }.reduce(text) { $1.masked($0) } }
}
