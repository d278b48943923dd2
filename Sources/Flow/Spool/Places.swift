// Whether the files of the state folder are still where they were opened: a router must not take what would be lost with them.

internal import Database
public import Platform

extension SpoolFile {
    public func checkPlace() throws(SpoolFault) {
        // It is not there on purpose.
        if !isRenewing { try database.checkPlace() }
    }
    public func letGo() {
        isLetGo = true
        database.letGo()
    }
}

extension HeldFile {
    public func checkPlace() throws(SpoolFault) { try database.checkPlace() }
    /// It may be anywhere from now on.
    public func letGo() { database.letGo() }
}

extension DeadLetterFile {
    public var isInPlace: Bool { (try? database.checkPlace()) != nil }
}

extension StateFolder {
    /// Fails when the folder, or the file by which it is taken, was removed, moved away or replaced.
    public func checkPlace() throws(SpoolFault) {
        let file = path + "/router.pid"
        guard FilePlace(file) != nil && FilePlace(file) == FilePlace(lock.number) else {
            throw FilePlace(path) == nil ? .removed(path) : .removed(file)
        }
    }
}
