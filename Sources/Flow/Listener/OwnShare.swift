// Decides which bodies the server's thread translates itself: small ones, and only so many between two turns of all connections that no
// connection waits long. It is pure.

struct OwnShare {
    /// The largest body that the server's thread translates. For a larger one, the time of another thread is worth its waking.
    static let smallBody = 32 << 10
    /// The most bytes that the server's thread translates in one round. The rest is shared by other threads.
    static let mostInRound = 64 << 10

    private var bytes = 0

    /// Returns true if the server's thread translates the body itself. A small body that is compressed may be large.
    mutating func takes(bodyBytes: Int, isCompressed: Bool) -> Bool {
        assert(bodyBytes >= 0, "a body has a negative size")
        guard !isCompressed, bodyBytes <= OwnShare.smallBody, bytes + bodyBytes <= OwnShare.mostInRound else { return false }
        bytes += bodyBytes
        return true
    }

    /// Begins the next round.
    mutating func roundEnded() { bytes = 0 }
}
