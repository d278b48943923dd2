// The process that describes one module. It loads the copy that the router has checked, calls describe, and writes the result to a pipe.
// It is killed when the router ends. It ends as soon as it has answered, and never runs the exit handlers of the module.
//
// It writes one byte for each completed step: `l` when the library is loaded, and `d` when its table is read. Then it writes `a` with the
// description, or `r` with the reason why there is none, as a length (4 bytes, little-endian) and a text.

internal import CPlatform
internal import Glibc
internal import Plans
internal import Platform

public enum DescribingProcess {
    /// The argument that makes the router's executable run as this process. The router's process id and the module's path follow it.
    public static let command = "describe-module"
    /// These are the first descriptors after the standard ones.
    private static let copy: Int32 = 3
    private static let answer: Int32 = 4

    /// Describes the module and ends the process. It returns false if `words` are not the arguments that the router passes.
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
        // The exit handlers of the module must not run here.
        _exit(0)
    }

    private static func write(_ kind: UInt8, _ text: String) {
        let text = Array(text.utf8)
        write([kind] + withUnsafeBytes(of: UInt32(text.count).littleEndian) { Array($0) } + text)
    }

    /// Ignores failures: if the router is gone, this process is killed anyway.
    private static func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { try? writeAll(answer, $0) } }

    /// The bytes that the router has received so far. They are not trusted, since a module can write to the pipe as well.
    struct Report {
        private static let most = 300_000
        private var bytes: [UInt8] = []

        mutating func take(_ more: ArraySlice<UInt8>) { bytes += more.prefix(max(0, Report.most + 1 - bytes.count)) }

        /// True if more bytes came than a valid answer can have.
        var isTooLong: Bool { bytes.count > Report.most }

        private var steps: ArraySlice<UInt8> { bytes.prefix { $0 == UInt8(ascii: "l") || $0 == UInt8(ascii: "d") } }

        /// The part of the module that ran last.
        var stage: String {
            switch steps.count {
            case 0: "its constructor"
            case 1: "its switchyard_plugin_entry"
            default: "its describe"
            }
        }

        /// The description, or the reason why there is none. It is nil if the answer is not complete yet.
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
