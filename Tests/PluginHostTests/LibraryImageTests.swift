import Foundation
import Testing

@testable import PluginHost

@Suite("The check of a library file", .timeLimit(.minutes(20)))
struct LibraryImageTests {
    private let library: [UInt8]

    init() throws {
        let fixture = try ModuleFixture()
        library = try [UInt8](Data(contentsOf: URL(filePath: fixture.build("table.c", as: "table.so"))))
    }

    private func fault(_ bytes: some Collection<UInt8>) -> String? { Array(bytes).withUnsafeBytes { LibraryImage.fault(in: $0) } }

    private func with(_ changes: [Int: UInt8]) -> [UInt8] {
        var bytes = library
        for (offset, byte) in changes { bytes[offset] = byte }
        return bytes
    }

    @Test("finds no fault in a whole library") func whole() { #expect(fault(library) == nil) }

    @Test("finds a fault in a library that was cut off, wherever it was cut")
    func cut() {
        for count in 0..<library.count where fault(library.prefix(count)) == nil { Issue.record("it passes, cut off at \(count)") }
        #expect(fault(library.prefix(0)) == "is empty; a module is a shared library")
        #expect(
            fault(library.prefix(3000))
                == "is cut off: it has 3000 bytes, but its headers refer to \(library.count); copy the whole file again")
    }

    @Test("finds a fault in a library whose second half was never written")
    func zeros() {
        let half = library.count / 2
        #expect(fault([UInt8](repeating: 0, count: 5000)) == "is not a shared library; it has no ELF header")
        // The dynamic section is in the second half.
        #expect(fault(Array(library[..<half]) + [UInt8](repeating: 0, count: library.count - half))?.hasPrefix("is damaged: ") == true)
    }

    @Test("refuses text") func text() {
        #expect(fault(Array("#!/bin/sh\n".utf8)) == "is not a shared library; it has no ELF header")
    }

    @Test(
        "names both machines if a library is for another machine",
        arguments: [
            ([18: 40, 4: 1], "is for arm, 32 bits"), ([18: 3, 4: 1], "is for i386, 32 bits"), ([18: 243], "is for riscv"),
            ([18: 0, 19: 22, 5: 2], "is for s390x"), ([18: 0xFE, 19: 0xFE], "is for a machine of number 65278"),
        ] as [([Int: UInt8], String)])
    func machine(changes: [Int: UInt8], words: String) {
        let own = LibraryImage.name(of: LibraryImage.ownMachine)
        #expect(fault(with(changes)) == "\(words), this is \(own); install the module that was built for this machine")
    }

    @Test(
        "names the kind of a file that is not a shared library",
        arguments: [(1, "an object file"), (2, "a program"), (4, "a core dump")] as [(UInt8, String)])
    func kind(number: UInt8, words: String) { #expect(fault(with([16: number]))?.hasPrefix("is \(words), not a shared library") == true) }

    @Test("does not crash on random headers, and a library that passes has every byte that its headers refer to")
    func chance() {
        var random = SystemRandomNumberGenerator()
        let segments = Int(library[56]) * 56 + 64
        for _ in 0..<20_000 {
            var bytes = library
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let offset = Int.random(in: 4..<segments, using: &random)
                bytes[offset] = [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: .min ... .max, using: &random)].randomElement(using: &random)!
            }
            guard fault(bytes) == nil else { continue }
            bytes.withUnsafeBytes { bytes in
                let start = Int(bytes.load(fromByteOffset: 32, as: UInt64.self))
                for index in 0..<Int(bytes[56]) {
                    let offset = bytes.loadUnaligned(fromByteOffset: start + 56 * index + 8, as: UInt64.self)
                    let size = bytes.loadUnaligned(fromByteOffset: start + 56 * index + 32, as: UInt64.self)
                    #expect(size == 0 || offset + size <= UInt64(bytes.count))
                }
            }
        }
    }
}
