// The process that describes one module: it loads the copy that the router has judged, asks it what it is, and writes that into a pipe.
// It is killed when the router is gone, ends as soon as it has answered, and takes no notice of what the module has left behind.
//
// It writes a byte for each step that it has come to, `l` when the library is loaded and `d` when its table is read, and then `a` with
// the description or `r` with why there is none: its length (4 bytes, little-endian) and text.

internal import CPlatform
internal import Glibc
internal import Plans
internal import Platform

public enum DescribingProcess {
    /// The word by which the router's executable becomes this process; the number of the router's process and the module's path follow.
    public static let command = "describe-module"
    /// The first descriptors after the standard ones.
    private static let copy: Int32 = 3
    private static let answer: Int32 = 4

    /// Runs to its end; false when these are not the words that the router says.
    public static func run(_ words: [String]) -> Bool {
        guard words.count == 3, words[0] == command, let router = Int32(words[1]), fcntl(answer, F_SETFD, FD_CLOEXEC) == 0 else {
            return false
        }
        guard cplatform_die_with(router) != 0 else { _exit(0) }
        do throws(ModuleFault) {
            let library = try Library(path: words[2], judged: copy).load()
            write([UInt8(ascii: "l")])
            let table = try ModuleTable(of: library, path: words[2])
            write([UInt8(ascii: "d")])
            write(UInt8(ascii: "a"), try table.describe())
        } catch {
            write(UInt8(ascii: "r"), error.description)
        }
        // What the module wants to run at the end of a process is not for this one.
        _exit(0)
    }

    private static func write(_ kind: UInt8, _ text: String) {
        let text = Array(text.utf8)
        write([kind] + withUnsafeBytes(of: UInt32(text.count).littleEndian) { Array($0) } + text)
    }

    /// A router that is gone ends this process anyway.
    private static func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { try? writeAll(answer, $0) } }

    /// What has come of that so far. Nothing is believed: a module may write into the pipe as well.
    struct Report {
        private static let most = 300_000
        private var bytes: [UInt8] = []

        mutating func take(_ more: ArraySlice<UInt8>) { bytes += more.prefix(max(0, Report.most + 1 - bytes.count)) }

        /// More came than is ever said.
        var isTooLong: Bool { bytes.count > Report.most }

        private var steps: ArraySlice<UInt8> { bytes.prefix { $0 == UInt8(ascii: "l") || $0 == UInt8(ascii: "d") } }

        /// What of the module was at work last.
        var stage: String {
            switch steps.count {
            case 0: "its constructor"
            case 1: "its switchyard_plugin_entry"
            default: "its describe"
            }
        }

        /// The description, or why there is none; nil: that was not said yet.
        var answer: Result<String, ModuleFault>? {
            let rest = bytes[steps.endIndex...]
            guard rest.count >= 5, let kind = rest.first else { return nil }
            let size = rest.dropFirst().prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            let text = rest.dropFirst(5)
            guard text.count >= size else { return nil }
            let words = String(decoding: text.prefix(size), as: UTF8.self)
            switch kind {
            case UInt8(ascii: "a"): return .success(words)
            case UInt8(ascii: "r"): return .failure(ModuleFault(ForeignText.harmless(words)))
            default: return nil
            }
        }
    }
}
