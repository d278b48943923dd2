// Notices at once when the state folder of a running router, or a file in it, is removed, moved away or replaced. It looks only when the
// system reports a change in the folder. Some network file systems report none. There, the stores notice the loss when they next store
// something.

internal import CPlatform
internal import Glibc
internal import Platform
internal import Router
internal import StateFiles

final class StateWatch: Sendable {
    private let folder: StateFolder
    private let router: Router
    private let say: @Sendable (String) -> Void
    private let isOver = Monitor(false)
    private let key: String
    private let keyPlace: FilePlace?
    /// The descriptor of the watch. It is negative if the folder cannot be watched.
    private let number: Int32

    /// Call this when all files of the router exist except the control socket, so that no client can have reached the router yet.
    init(_ folder: StateFolder, _ router: Router, say: @escaping @Sendable (String) -> Void) {
        self.folder = folder
        self.router = router
        self.say = say
        key = folder.path + "/subject.key"
        keyPlace = FilePlace(key)
        number = cplatform_watch_folder(folder.path)
    }

    /// Call this after the control socket was made. The socket may already be gone again.
    func start() {
        guard number >= 0 else { return }
        let socket = folder.path + "/control.sock"
        let socketPlace = FilePlace(socket)
        Thread.start("watch state") { [self] in
            let descriptor = Descriptor(owning: number)
            var isAskable = true
            while !isOver.withLock({ $0 }) {
                do throws(StorageFault) {
                    try folder.checkPlace()
                    guard FilePlace(key) == keyPlace else { throw .removed(key) }
                } catch {
                    router.leave(error)
                }
                router.checkFiles()
                if isAskable, socketPlace == nil || FilePlace(socket) != socketPlace, !isOver.withLock({ $0 }) {
                    isAskable = false
                    say("\(StorageFault.removed(socket)): the router keeps running, but cannot be asked until its next start")
                }
                var ready = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
                poll(&ready, 1, -1)
                var events = [UInt8](repeating: 0, count: 4096)
                while read(descriptor.number, &events, events.count) > 0 {}
            }
        }.detach()
    }

    /// Ends the watch, since the router now removes its own files.
    func end() { isOver.withLock { $0 = true } }
}
