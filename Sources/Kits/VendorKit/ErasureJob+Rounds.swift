// What the erasures of several vendors share.

public import PluginKit

extension ErasureJob {
    /// Gives up the subjects whose id came from another member than these.
    public mutating func refuse(except members: [String], _ words: String) {
        for index in open where !members.contains(subjects[index].member) { settle(index, .rejected(words)) }
    }

    /// The state as a list of words that hold no newline.
    public var lines: [String] {
        get { state.split(separator: "\n").map(String.init) }
        set { state = newValue.joined(separator: "\n") }
    }

    /// Ends a round in which the vendor has lost the job: the next one begins it anew.
    public mutating func beginAnew(_ words: String) -> ErasureStep {
        state = ""
        return .askAgain(words)
    }
}

extension Setup {
    /// Returns a secret that may be left out, such as a key that is only needed for erasures.
    public mutating func secretIfSet(_ name: String) throws(SettingsFault) -> String? {
        settings.get(name, as: String.self) == nil ? nil : try secret(name)
    }
}
