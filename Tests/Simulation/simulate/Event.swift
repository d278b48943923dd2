// What the slow model knows of one event. It is held against what the lane, its account and the store say.

import Delivery

struct Event {
    let isPoison: Bool
    var size = 0
    /// Whether this life's lane has it, and owes it a fate.
    var isTaken = false
    /// In which life that was.
    var takenIn = 0
    var isAcknowledged = false
    /// Settled, as far as the lane has been told or has told.
    var fate: LaneAccount.Fate?
    /// It was in memory only when the router was killed.
    var isGone = false
    /// It has its fate, but could not be kept as a dead letter: it stays where it is.
    var isUnburied = false
    /// It was given up since it was larger than the module took.
    var wasTooLarge = false
    /// In how many deliveries it is at the moment.
    var inHand = 0
    var firstHanded: Int64?
    /// How often the provider really got it, and how often it was right to send it again although it might have.
    var arrivals = 0
    var excuses = 0

    var isOwed: Bool { isTaken && fate == nil && !isGone }
}
