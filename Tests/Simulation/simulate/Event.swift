// The state of one event in the slow model. The checks compare it with the lane, its account and the store.

import Queueing

struct Event {
    let isPoison: Bool
    var size = 0
    /// True if the lane has taken it.
    var isTaken = false
    /// The life in which the lane took it.
    var takenIn = 0
    var isAcknowledged = false
    /// The fate that the provider or the lane has reported. It is nil while none is known.
    var fate: LaneAccount.Fate?
    /// True if it was only in memory when the router was killed.
    var isGone = false
    /// True if it has its fate but could not be kept as a dead letter. Then it stays in the store.
    var isUnburied = false
    /// True if it was given up because it was larger than the module accepts.
    var wasTooLarge = false
    /// The number of deliveries that it is in at the moment.
    var inHand = 0
    var firstHanded: Int64?
    /// The number of times that the provider really got it, and the number of times that the lane was allowed to send it again.
    var arrivals = 0
    var excuses = 0

    var isOwed: Bool { isTaken && fate == nil && !isGone }
}
