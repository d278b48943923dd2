// Whether there is a file at a place.

internal import Glibc

enum Salvage {
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
