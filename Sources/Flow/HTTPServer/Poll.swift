// Waits for sockets (epoll). A connection is reported once when bytes arrive or when it ends, so a connection that waits for its answer needs
// no change. Only one that could not send its reply at once is also reported when it can be written again.

internal import CEpoll
internal import Glibc
internal import Platform

final class Poll {
    struct Event {
        /// The slot of a connection, or one of the numbers below.
        var slot: UInt32
        var serial: UInt32
        var isReadable: Bool
        var hasHungUp: Bool
    }

    enum Mode { case level, edge, edgeWriting }

    static let wakeUp = UInt32.max
    static let listener = UInt32.max - 1

    private let descriptor: Int32
    private let events = UnsafeMutablePointer<cepoll_event>.allocate(capacity: Int(CEPOLL_MOST))

    init() throws(SystemFault) {
        descriptor = cepoll_create()
        guard descriptor >= 0 else {
            let fault = SystemFault()
            events.deallocate()
            throw fault
        }
    }

    deinit {
        close(descriptor)
        events.deallocate()
    }

    /// Watches a descriptor, or changes how it is watched.
    func watch(_ watched: Int32, slot: UInt32, serial: UInt32 = 0, _ mode: Mode) throws(SystemFault) {
        let mode = mode == .level ? CEPOLL_LEVEL : mode == .edge ? CEPOLL_EDGE : CEPOLL_EDGE_WRITING
        guard cepoll_watch(descriptor, watched, UInt64(slot) | UInt64(serial) << 32, mode) == 0 else { throw SystemFault() }
    }

    func forget(_ watched: Int32) { cepoll_forget(descriptor, watched) }

    /// Waits for events, but not longer than the time; -1 means without limit. Returns their number.
    func wait(milliseconds: Int32) -> Int { Int(cepoll_wait(descriptor, events, milliseconds)) }

    /// An event of the last wait.
    subscript(index: Int) -> Event {
        assert(index < Int(CEPOLL_MOST), "there are not so many events")
        let (id, flags) = (events[index].id, events[index].flags)
        return Event(
            slot: UInt32(truncatingIfNeeded: id), serial: UInt32(id >> 32), isReadable: flags & UInt32(CEPOLL_READABLE) != 0,
            hasHungUp: flags & UInt32(CEPOLL_HUNG_UP) != 0)
    }
}
