// Notices at once when the state folder of a running router, or a file in it, is removed, moved away or replaced. It looks only when
// something has happened in the folder. Where that cannot be told, on some network file systems, the stores notice by themselves when they
// next store something.

import CPlatform
import Glibc
import Platform
import Router
import Spool

final class StateWatch: Sendable {
    private let folder: StateFolder
    private let router: Router
    private let say: @Sendable (String) -> Void
    private let isOver = Monitor(false)
    private let key: String
    private let keyPlace: FilePlace?
    /// Of the watch; negative: there is none.
    private let number: Int32

    /// To be called when all files of the router are there but for the control socket, so that nobody knows of the router yet.
    init(_ folder: StateFolder, _ router: Router, say: @escaping @Sendable (String) -> Void) {
        self.folder = folder
        self.router = router
        self.say = say
        key = folder.path + "/subject.key"
        keyPlace = FilePlace(key)
        number = cplatform_watch_folder(folder.path)
    }

    /// To be called when the control socket was made; it may be gone again.
    func start() {
        guard number >= 0 else { return }
        let socket = folder.path + "/control.sock"
        let socketPlace = FilePlace(socket)
        Thread.start("watch state") { [self] in
            let descriptor = Descriptor(owning: number)
            var isAskable = true
            while !isOver.withLock({ $0 }) {
                do throws(SpoolFault) {
                    try folder.checkPlace()
                    guard FilePlace(key) == keyPlace else { throw .removed(key) }
                } catch {
                    router.leave(error)
                }
                router.checkFiles()
                if isAskable, socketPlace == nil || FilePlace(socket) != socketPlace, !isOver.withLock({ $0 }) {
                    isAskable = false
                    say("\(StorageFault.removed(socket)): until the next start the router cannot be asked; it goes on")
                }
                var ready = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
                poll(&ready, 1, -1)
                var events = [UInt8](repeating: 0, count: 4096)
                while read(descriptor.number, &events, events.count) > 0 {}
            }
        }.detach()
    }

    /// The router takes its own files away now.
    func end() { isOver.withLock { $0 = true } }
}
