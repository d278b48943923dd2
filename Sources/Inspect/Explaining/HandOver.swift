// An event as the module of a provider gets it, for commands that ask the module what it would send. The event is not masked. What the
// module makes of it must pass through `masked` before it is shown.

extension Explanation {
    public struct HandOver: Sendable {
        public let provider: String
        /// The line of the event, without its newline.
        public let line: [UInt8]
        /// The hashes in it, as they are written, in quotes.
        let hashes: Set<[UInt8]>

        /// Returns the bytes with a word in the place of each hash of the event, wherever the module has written it.
        public func masked(_ bytes: [UInt8]) -> [UInt8] {
            // The longest one first: one hash may begin another.
            let texts = hashes.map { Array($0.dropFirst().dropLast()) }.filter { !$0.isEmpty }.sorted { $0.count > $1.count }
            guard !texts.isEmpty else { return bytes }
            var shown: [UInt8] = []
            shown.reserveCapacity(bytes.count)
            var at = 0
            while at < bytes.count {
                if let text = texts.first(where: { bytes[at...].starts(with: $0) }) {
                    shown += Array(Mask.digest.utf8)
                    at += text.count
                } else {
                    shown.append(bytes[at])
                    at += 1
                }
            }
            return shown
        }
    }

    /// Returns the values of these members that are hashes, as they are written.
    static func hashes(_ hashed: [HashedMember], _ members: EventMembers) -> Set<[UInt8]> {
        Set(hashed.compactMap { one in members[one.path].flatMap { one.isHash($0) ? $0 : nil } })
    }
}

extension Explanation {
    /// Adds to each route that hands the event over what the second check of consent says. Between the two checks of an explanation no time
    /// passes and no record changes, so its answer is that of the first one.
    public mutating func addSecondCheck() {
        for index in routes.indices where !routes[index].handOvers.isEmpty {
            let why = "asked again at the hand-over, with the same answer as long as no record changes"
            routes[index].decisions.append(Decision(stage: .consent, why: why))
        }
    }
}
