// Checks that the files of the state folder are still where they were opened. A router must not accept events into a file that was removed,
// moved away or replaced, because these events would be lost.

internal import Database
public import Platform

extension SpoolFile {
    public func checkPlace() throws(SpoolFault) {
        // While the file is renewed, it is missing on purpose.
        if !isRenewing { try database.checkPlace() }
    }
    public func letGo() {
        isLetGo = true
        database.letGo()
    }
}

extension HeldFile {
    public func checkPlace() throws(SpoolFault) { try database.checkPlace() }
    /// Stops checking the place of the file.
    public func letGo() { database.letGo() }
}

extension DeadLetterFile {
    public var isInPlace: Bool { (try? database.checkPlace()) != nil }
}

extension StateFolder {
    /// Throws if the folder or its lock file was removed, moved away or replaced.
    public func checkPlace() throws(SpoolFault) {
        let file = path + "/router.pid"
        guard FilePlace(file) != nil && FilePlace(file) == FilePlace(lock.number) else {
            throw FilePlace(path) == nil ? .removed(path) : .removed(file)
        }
    }
}
