// A disk under SQLite that fails when a test says so, and whose power can be cut. Each test has its own disk, so tests do not wait for each
// other.

internal import FaultyFiles
internal import Foundation

public final class FaultyDisk: @unchecked Sendable {
    public enum Fault: String, CaseIterable, Sendable {
        /// The call fails with an error of the device.
        case io
        /// The disk is full.
        case full
        /// Half of the data is written, and then the disk is full.
        case short
    }

    /// The free space of the disk.
    public enum Space: Sendable {
        case enough
        /// Only files that are opened from now on, and are empty then, can grow.
        case forNewFiles
        case none
    }

    private let disk: OpaquePointer
    /// The name of the SQLite file system, for the options of a file on this disk.
    public let name: String

    public init() {
        disk = faulty_disk_make()
        name = String(cString: faulty_disk_name(disk))
    }

    deinit { faulty_disk_destroy(disk) }

    /// Counts calls from 0, and makes the call with this number fail, and all later ones if the fault `stays`.
    public func fail(at call: Int64, _ fault: Fault, stays: Bool = false) {
        faulty_disk_arm(disk, call, fault == .io ? FAULTY_IO : fault == .full ? FAULTY_FULL : FAULTY_SHORT, stays ? 1 : 0)
    }

    /// Counts calls from 0 again, and makes none fail.
    public func heal() { faulty_disk_arm(disk, -1, FAULTY_IO, 0) }

    /// Sets the free space from now on.
    public func leave(_ room: Space) {
        faulty_disk_fill(disk, room == .enough ? FAULTY_ROOM : room == .none ? FAULTY_NO_ROOM : FAULTY_ROOM_FOR_NEW)
    }

    /// The number of calls that can fail: open, write, sync, truncate, delete, read.
    public var calls: Int64 { faulty_disk_calls(disk) }
    public var openFiles: Int { Int(faulty_disk_open_files(disk)) }

    /// From now on remembers the data that is written and not yet synced.
    public func watchPower() { faulty_disk_watch_power(disk) }

    /// Cuts the power: the seed decides for each file whether data that was not synced is kept, lost or kept in part. All files must be
    /// closed before.
    public func cutPower(_ seed: UInt64) { faulty_disk_cut_power(disk, seed) }
}

/// A folder whose files are in memory, or the folder of temporary files if the system has no such folder.
public let folderInMemory: String = {
    FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
}()
