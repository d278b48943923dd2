// The process that describes one module. It loads the copy that the router has checked, calls describe, and writes the result to a pipe.
// It is killed when the router ends. It ends as soon as it has answered, and never runs the exit handlers of the module.
//
// It writes one byte for each completed step: `l` when the library is loaded, and `d` when its tables are read. Then it writes `s` with the
// description of its source if there is one, and `a` with that of its provider, which is empty if there is none. In place of `a` comes `r`
// with the reason why there is no description. Each is a length (4 bytes, little-endian) and a text.

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
            let tables = try ModuleTables(of: library, path: words[2])
            write([UInt8(ascii: "d")])
            let texts = try tables.describe()
            if let source = texts.source { write(UInt8(ascii: "s"), source) }
            write(UInt8(ascii: "a"), texts.provider ?? "")
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
        private static let most = 600_000
        private var bytes: [UInt8] = []

        mutating func take(_ more: ArraySlice<UInt8>) { bytes += more.prefix(max(0, Report.most + 1 - bytes.count)) }

        /// True if more bytes came than a valid answer can have.
        var isTooLong: Bool { bytes.count > Report.most }

        private var steps: ArraySlice<UInt8> { bytes.prefix { $0 == UInt8(ascii: "l") || $0 == UInt8(ascii: "d") } }

        /// The part of the module that ran last.
        var stage: String {
            switch steps.count {
            case 0: "its constructor"
            case 1: "its entry"
            default: "its describe"
            }
        }

        /// The descriptions, or the reason why there are none. It is nil if the answer is not complete yet.
        var answer: Result<ModuleTexts, ModuleFault>? {
            var rest = bytes[steps.endIndex...]
            var texts = ModuleTexts()
            while rest.count >= 5, let kind = rest.first {
                let size = rest.dropFirst().prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
                rest = rest.dropFirst(5)
                guard rest.count >= size else { return nil }
                let words = String(decoding: rest.prefix(size), as: UTF8.self)
                rest = rest.dropFirst(size)
                switch kind {
                case UInt8(ascii: "s"): texts.source = words
                case UInt8(ascii: "a"):
                    texts.provider = words.isEmpty ? nil : words
                    return .success(texts)
                case UInt8(ascii: "r"): return .failure(ModuleFault(ForeignText.harmless(words)))
                default: return nil
                }
            }
            return nil
        }
    }
}
