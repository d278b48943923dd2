// Limits how many bytes the spools and the held events of a state folder may occupy together, and keeps a part of its disk free.

public import Platform

/// The limit of a state folder, which all of its stores share.
public final class DiskBudget: Sendable {
    private let path: String
    private let most: Int?
    private let reserve: Int
    private let free: @Sendable (String) -> Int?
    private let held = Monitor(0)

    public init(_ path: String, most: Int?, reserve: Int, free: @escaping @Sendable (String) -> Int? = StateFolder.free) {
        self.path = path
        self.most = most
        self.reserve = reserve
        self.free = free
    }

    /// Adds to the number of bytes that the spools hold. A negative number is subtracted.
    public func hold(_ bytes: Int) { held.withLock { $0 += bytes } }

    /// Throws `full` if the given number of bytes may not be stored in addition.
    public func allow(_ bytes: Int) throws(StorageFault) {
        let held = held.withLock { $0 }
        if let most, held > 0, held + bytes > most {
            throw StorageFault(.full, "\(path): limits.disk allows no more than \(grouped(most)) bytes")
        }
        guard reserve > 0, let free = free(path), free < reserve + bytes else { return }
        throw StorageFault(
            .full, "\(path): \(grouped(free)) bytes are free on its disk, and limits.disk_free keeps \(grouped(reserve)) of them")
    }
}
