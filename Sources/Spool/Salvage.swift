// What becomes of a damaged file that is not taken over: it is moved aside whole. It is never written to and never deleted.

internal import Glibc
internal import Platform

enum Salvage {
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Gives the file and its companions another name, with the time in it; that name.
    static func setAside(_ path: String, at time: Int64) throws(SpoolFault) -> String {
        let base = "\(path).damaged-\(time / 1_000_000_000)"
        var target = base
        var number = 1
        while access(target, F_OK) == 0 {
            number += 1
            target = "\(base)-\(number)"
        }
        for companion in ["-wal", ""] where access(path + companion, F_OK) == 0 {
            guard rename(path + companion, target + companion) == 0 else {
                throw SpoolFault(.failed, "\(path)\(companion): is damaged and cannot be set aside: \(SystemFault())")
            }
        }
        unlink(path + "-shm")
        return target
    }
}
