// A disk under SQLite that fails when a test says so, and whose power can be cut. Each has its own, so that tests do not wait for each other.

internal import FaultyFiles
internal import Foundation

public final class FaultyDisk: @unchecked Sendable {
    public enum Fault: String, CaseIterable, Sendable {
        /// The call fails with an error of the device.
        case io
        /// The disk has no room.
        case full
        /// Half of what is written arrives, then there is no room.
        case short
    }

    /// Whether files can grow.
    public enum Room: Sendable {
        case enough
        /// Only those that are opened from now on, and are empty then, can.
        case forNewFiles
        case none
    }

    private let disk: OpaquePointer
    /// For the options of whoever opens a file on it.
    public let name: String

    public init() {
        disk = faulty_disk_make()
        name = String(cString: faulty_disk_name(disk))
    }

    deinit { faulty_disk_destroy(disk) }

    /// Counts calls from 0, and fails the one with this number, and all after it if it `stays`.
    public func fail(at call: Int64, _ fault: Fault, stays: Bool = false) {
        faulty_disk_arm(disk, call, fault == .io ? FAULTY_IO : fault == .full ? FAULTY_FULL : FAULTY_SHORT, stays ? 1 : 0)
    }

    /// Counts calls from 0, and fails none.
    public func heal() { faulty_disk_arm(disk, -1, FAULTY_IO, 0) }

    /// From now on there is so much room.
    public func leave(_ room: Room) {
        faulty_disk_fill(disk, room == .enough ? FAULTY_ROOM : room == .none ? FAULTY_NO_ROOM : FAULTY_ROOM_FOR_NEW)
    }

    /// How many calls there were that can fail: open, write, sync, truncate, delete, read.
    public var calls: Int64 { faulty_disk_calls(disk) }
    public var openFiles: Int { Int(faulty_disk_open_files(disk)) }

    /// From now on remembers what is written and not yet synced.
    public func watchPower() { faulty_disk_watch_power(disk) }

    /// Of each file, what was not synced is there, or not, or in part, as the seed has it. All files must have been closed.
    public func cutPower(_ seed: UInt64) { faulty_disk_cut_power(disk, seed) }
}

/// A folder whose files are in memory where the system has one, else that of temporary files.
public let folderInMemory: String = {
    FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
}()
