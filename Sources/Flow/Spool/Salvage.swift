// Tells whether a file exists. It never opens or changes a file.

internal import Glibc

enum Salvage {
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
