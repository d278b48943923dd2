// The files that belong to a provider, found by the content of their folders: those of the path and its time fields, their rotated and
// compressed forms, and what an interrupted step left.

internal import Glibc
internal import PluginKit

struct OwnFiles: Sendable {
    let template: PathTemplate

    /// The files with events: current, rotated and compressed.
    var all: [String] { files(ending: ["", ".gz", ".zst"]) }

    /// What a kill can leave of a file that was being compressed. Only a step of the same provider removes it.
    var halfCompressed: [String] { files(ending: [".gz" + Compressor.partial, ".zst" + Compressor.partial]) }

    /// What a kill can leave of a file that was being rewritten.
    var halfRewritten: [String] { files(ending: ["", ".gz", ".zst"].map { $0 + Rewriting.partial }) }

    /// Files that another program seems to have moved away from the path, such as PATH.1, PATH.2.gz and PATH-20260131 of logrotate.
    var movedAway: [String] {
        let own = Set(all + halfCompressed + halfRewritten)
        return OwnFiles.glob(template.glob + "[.-][0-9]*").filter { !own.contains($0) }
    }

    /// Returns the files of the template with these suffixes, with their original and their rotated names.
    private func files(ending suffixes: [String]) -> [String] {
        let plain = template.glob
        let rotated = plain + "." + PathTemplate.pattern(RotatedName.shape)
        return suffixes.flatMap { OwnFiles.glob(plain + $0) + OwnFiles.glob(rotated + $0) }
    }

    /// The reason why a folder of the path cannot be read, so that files of the provider may be hidden.
    var unreadableFolder: FileFault? {
        var found = glob_t()
        defer { globfree(&found) }
        let pattern = template.glob + "." + PathTemplate.pattern(RotatedName.shape)
        // glob(3) gives the reason to this function only, which cannot capture anything. It runs on this thread, as its errno does.
        let result = Glibc.glob(
            pattern, 0,
            { _, code in
                guard code != ENOENT, code != ENOTDIR else { return 0 }
                errno = code
                return 1
            }, &found)
        let code = errno
        guard result != 0, result != GLOB_NOMATCH else { return nil }
        return FileFault("cannot read a folder of", path: pattern, code: result == GLOB_NOSPACE ? ENOMEM : code)
    }

    private static func glob(_ pattern: String) -> [String] {
        var found = glob_t()
        defer { globfree(&found) }
        guard Glibc.glob(pattern, 0, nil, &found) == 0 else { return [] }
        return (0..<Int(found.gl_pathc)).compactMap { index in found.gl_pathv[index].map { String(cString: $0) } }
    }
}

/// The name of a rotated file: the path, and the UTC time of the rotation. The names sort by age.
enum RotatedName {
    static let shape = "00000000T000000.000Z"

    /// Returns an unused name whose compressed forms are unused too. Each time is used only once.
    static func free(for path: String, at nanoseconds: Int64) -> String {
        var milliseconds = nanoseconds / 1_000_000
        while true {
            let name = path + "." + stamp(milliseconds)
            if !["", ".gz", ".zst"].contains(where: { FileStatus(path: name + $0, followingLinks: false) != nil }) { return name }
            milliseconds += 1
        }
    }

    private static func stamp(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1000)
        var clock = tm()
        gmtime_r(&seconds, &clock)
        var buffer = [CChar](repeating: 0, count: 32)
        let length = strftime(&buffer, buffer.count, "%Y%m%dT%H%M%S", &clock)
        let fraction = String(1000 + milliseconds % 1000).dropFirst()
        return String(decoding: buffer[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self) + "." + fraction + "Z"
    }
}
