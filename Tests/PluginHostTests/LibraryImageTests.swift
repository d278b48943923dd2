import Foundation
import Testing

@testable import PluginHost

@Suite("A library as a file", .timeLimit(.minutes(20)))
struct LibraryImageTests {
    private let library: [UInt8]

    init() throws {
        let workshop = try Workshop()
        library = try [UInt8](Data(contentsOf: URL(filePath: workshop.build("table.c", as: "table.so"))))
    }

    private func fault(_ bytes: some Collection<UInt8>) -> String? { Array(bytes).withUnsafeBytes { LibraryImage.fault(in: $0) } }

    private func with(_ changes: [Int: UInt8]) -> [UInt8] {
        var bytes = library
        for (offset, byte) in changes { bytes[offset] = byte }
        return bytes
    }

    @Test("one that is whole has no fault") func whole() { #expect(fault(library) == nil) }

    @Test("one that was cut has a fault, wherever it was cut")
    func cut() {
        for count in 0..<library.count where fault(library.prefix(count)) == nil { Issue.record("cut at \(count) it passes") }
        #expect(fault(library.prefix(0)) == "is empty; a module is a shared library")
        #expect(
            fault(library.prefix(3000)) == "is cut off: it has 3000 bytes, and its header speaks of \(library.count); copy it again, whole")
    }

    @Test("one whose end was never written has no fault that can be seen, unless it is in the header")
    func zeros() {
        let half = library.count / 2
        #expect(fault([UInt8](repeating: 0, count: 5000)) == "is no shared library; it does not begin like one")
        // The dynamic section lies in the second half.
        #expect(fault(Array(library[..<half]) + [UInt8](repeating: 0, count: library.count - half))?.hasPrefix("is damaged: ") == true)
    }

    @Test("text is no library") func text() {
        #expect(fault(Array("#!/bin/sh\n".utf8)) == "is no shared library; it does not begin like one")
    }

    @Test(
        "one for another machine is told with both names",
        arguments: [
            ([18: 40, 4: 1], "is for arm, 32 bits"), ([18: 3, 4: 1], "is for i386, 32 bits"), ([18: 243], "is for riscv"),
            ([18: 0, 19: 22, 5: 2], "is for s390x"), ([18: 0xFE, 19: 0xFE], "is for a machine of number 65278"),
        ] as [([Int: UInt8], String)])
    func machine(changes: [Int: UInt8], words: String) {
        let own = LibraryImage.name(of: LibraryImage.ownMachine)
        #expect(fault(with(changes)) == "\(words), this is \(own); install the module that was built for this machine")
    }

    @Test(
        "what is no shared library is told as what it is",
        arguments: [(1, "an object file"), (2, "a program"), (4, "a core dump")] as [(UInt8, String)])
    func kind(number: UInt8, words: String) { #expect(fault(with([16: number]))?.hasPrefix("is \(words), not a shared library") == true) }

    @Test("headers by chance are judged, and one that passes holds what it speaks of")
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
