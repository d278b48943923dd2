// Checks a shared library as a file, before the dynamic linker maps it. The linker trusts the headers. If the file is cut off, access to
// a missing page raises SIGBUS. If a table is not where the headers claim, access to it raises SIGSEGV.
//
// A library that passes is built for this machine. Its file has every byte that its headers refer to, and the tables that the linker uses
// are in the loaded segments. The contents of these tables are not checked; a separate process tries them first (Describer.swift). Every
// number is checked against the size of the file before it is used. The code has no side effects.

struct LibraryImage {
    /// Returns a message about the fault of the library in these bytes, to follow the name of its file. It returns nil if there is none.
    static func fault(in bytes: UnsafeRawBufferPointer) -> String? {
        do throws(Fault) {
            try LibraryImage(bytes).judge()
            return nil
        } catch {
            return error.words
        }
    }

    private struct Fault: Error { let words: String }

    /// A program header: a part of the file and the address at which it is loaded.
    private struct Segment {
        var kind: UInt32
        var offset, address, fileSize, memorySize, alignment: UInt64

        func holds(_ first: UInt64, _ count: UInt64, inFile: Bool = false) -> Bool {
            let size = inFile ? fileSize : memorySize
            return first >= address && first - address <= size && count <= size - (first - address)
        }
    }

    private let bytes: UnsafeRawBufferPointer
    private var size: UInt64 { UInt64(bytes.count) }

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    // MARK: - Numbers

    #if arch(x86_64)
        static let ownMachine: UInt16 = 62
    #elseif arch(arm64)
        static let ownMachine: UInt16 = 183
    #else
        #error("add the number of this machine in ELF headers here")
    #endif

    private static let machines: [UInt16: String] = [
        2: "sparc", 3: "i386", 8: "mips", 20: "powerpc", 21: "powerpc64", 22: "s390x", 40: "arm", 43: "sparc64", 50: "ia64", 62: "x86-64",
        183: "aarch64", 243: "riscv", 258: "loongarch",
    ]
    static func name(of machine: UInt16) -> String { machines[machine] ?? "a machine of number \(machine)" }

    private enum Kind {
        static let load: UInt32 = 1
        static let dynamic: UInt32 = 2
    }

    private func number<N: FixedWidthInteger>(_ type: N.Type, at offset: UInt64) -> N {
        precondition(offset <= size && UInt64(MemoryLayout<N>.size) <= size - offset, "a number is read before its place was checked")
        return N(littleEndian: bytes.loadUnaligned(fromByteOffset: Int(offset), as: N.self))
    }

    // MARK: - Judging

    private func judge() throws(Fault) {
        try judgeHeader()
        let segments = try segments()
        let loaded = segments.filter { $0.kind == Kind.load }
        try judge(loaded: loaded)
        let dynamic = segments.filter { $0.kind == Kind.dynamic }
        guard dynamic.count == 1 else { throw damaged("it has \(dynamic.count) dynamic sections, not one") }
        try judge(dynamic: dynamic[0], loaded)
    }

    private func judgeHeader() throws(Fault) {
        guard !bytes.isEmpty else { throw Fault(words: "is empty; a module is a shared library") }
        guard bytes.prefix(4).elementsEqual([0x7F, 0x45, 0x4C, 0x46].prefix(bytes.count)) else {
            throw Fault(words: "is not a shared library; it has no ELF header")
        }
        try has(64)
        // The byte order is respected here, so that the message names the right machine for a big-endian file too.
        let isLittle = bytes[5] == 1
        let machine = isLittle ? number(UInt16.self, at: 18) : number(UInt16.self, at: 18).byteSwapped
        guard bytes[4] == 2, isLittle, machine == Self.ownMachine else {
            let width = bytes[4] == 1 ? ", 32 bits" : ""
            let order = isLittle || Self.machines[machine] != nil && machine != Self.ownMachine ? "" : ", big-endian"
            throw Fault(
                words: "is for \(Self.name(of: machine))\(width)\(order), this is \(Self.name(of: Self.ownMachine)); "
                    + "install the module that was built for this machine")
        }
        guard bytes[6] == 1, number(UInt32.self, at: 20) == 1 else { throw damaged("its header has an unknown version") }
        switch number(UInt16.self, at: 16) {
        case 3: break
        case 1: throw Fault(words: "is an object file, not a shared library; link it with -shared")
        case 2: throw Fault(words: "is a program, not a shared library; link it with -shared")
        case 4: throw Fault(words: "is a core dump, not a shared library")
        case let kind: throw damaged("its header names the unknown kind \(kind)")
        }
        // Linkers put the section table at the end. A file without it was cut off, even if all loaded parts are still there.
        let (sections, sectionCount, sectionSize) = (
            number(UInt64.self, at: 40), UInt64(number(UInt16.self, at: 60)), UInt64(number(UInt16.self, at: 58))
        )
        if sections != 0 { try has(sections, sectionCount * sectionSize) }
    }

    private func segments() throws(Fault) -> [Segment] {
        let (table, entrySize, count) = (number(UInt64.self, at: 32), number(UInt16.self, at: 54), UInt64(number(UInt16.self, at: 56)))
        guard entrySize == 56, (1..<0xFFFF).contains(count) else {
            throw damaged("its header names \(count) segments of \(entrySize) bytes")
        }
        try has(table, count * 56)
        var result: [Segment] = []
        for index in 0..<count {
            let at = table + index * 56
            let segment = Segment(
                kind: number(UInt32.self, at: at), offset: number(UInt64.self, at: at + 8), address: number(UInt64.self, at: at + 16),
                fileSize: number(UInt64.self, at: at + 32), memorySize: number(UInt64.self, at: at + 40),
                alignment: number(UInt64.self, at: at + 48))
            if segment.fileSize > 0 { try has(segment.offset, segment.fileSize) }
            result.append(segment)
        }
        return result
    }

    private func judge(loaded: [Segment]) throws(Fault) {
        guard !loaded.isEmpty else { throw damaged("it has no loaded segment") }
        var end: UInt64 = 0
        for segment in loaded {
            guard segment.fileSize <= segment.memorySize else { throw damaged("a segment has more in the file than in memory") }
            let page: UInt64 = 4096
            let isAligned = segment.alignment & (segment.alignment &- 1) == 0 && segment.alignment % page == 0 && segment.alignment > 0
            guard isAligned, segment.address & (segment.alignment - 1) == segment.offset & (segment.alignment - 1) else {
                throw damaged("a segment is not aligned to a page")
            }
            // No process has memory beyond this address.
            guard segment.address >= end, segment.address < 1 << 46, segment.memorySize < 1 << 46 else {
                throw damaged("its segments overlap, or are outside the address space")
            }
            end = segment.address + segment.memorySize
        }
    }

    // MARK: - The dynamic section

    private func judge(dynamic: Segment, _ loaded: [Segment]) throws(Fault) {
        guard let home = loaded.first(where: { $0.holds(dynamic.address, dynamic.fileSize, inFile: true) }),
            dynamic.fileSize > 0, dynamic.fileSize % 16 == 0
        else { throw damaged("its dynamic section is not loaded") }
        let start = home.offset + (dynamic.address - home.address)
        assert(start + dynamic.fileSize <= size, "the dynamic section lies outside the file")
        var values: [Int64: UInt64] = [:]
        var names: [UInt64] = []
        var hasEnd = false
        for index in 0..<dynamic.fileSize / 16 {
            let tag = number(Int64.self, at: start + 16 * index)
            let value = number(UInt64.self, at: start + 16 * index + 8)
            if tag == 0 {
                hasEnd = true
                break
            }
            if [Tag.needed, Tag.ownName, Tag.path, Tag.runPath].contains(tag) { names.append(value) }
            values[tag] = value
        }
        guard hasEnd else { throw damaged("its dynamic section has no end") }
        guard let texts = values[Tag.texts], let textsSize = values[Tag.textsSize], values[Tag.symbols] != nil else {
            throw damaged("its dynamic section names no symbols")
        }
        guard let textHome = loaded.first(where: { $0.holds(texts, textsSize, inFile: true) }), textsSize > 0,
            bytes[Int(textHome.offset + (texts - textHome.address) + textsSize - 1)] == 0, names.allSatisfy({ $0 < textsSize })
        else { throw damaged("its table of names is not valid") }
        guard values[Tag.symbolSize] ?? 24 == 24, values[Tag.relocationSize] ?? 24 == 24 else {
            throw damaged("the entries of its tables do not have the expected size")
        }
        for (table, size) in Tag.tables {
            guard let address = values[table] else { continue }
            let count = size.map { values[$0] ?? 0 } ?? 1
            guard loaded.contains(where: { $0.holds(address, count) }) else { throw damaged("one of its tables is not loaded") }
        }
    }

    private enum Tag {
        static let needed: Int64 = 1
        static let texts: Int64 = 5
        static let symbols: Int64 = 6
        static let relocationSize: Int64 = 9
        static let textsSize: Int64 = 10
        static let symbolSize: Int64 = 11
        static let ownName: Int64 = 14
        static let path: Int64 = 15
        static let runPath: Int64 = 29
        /// The tags for the addresses of tables, each with the tag for the size of the table if there is one.
        static let tables: [(Int64, Int64?)] = [
            (4, nil), (0x6FFF_FEF5, nil), (symbols, nil),  // hashes, symbols
            (7, 8), (17, 18), (23, 2), (36, 35),  // relocations: with and without addends, of calls, relative ones
            (12, nil), (13, nil), (25, 27), (26, 28),  // initializers and finalizers
            (0x6FFF_FFF0, nil), (0x6FFF_FFFC, nil), (0x6FFF_FFFE, nil),  // versions
        ]
    }

    // MARK: - Words

    /// Throws unless the file has `count` bytes from `offset` on.
    private func has(_ offset: UInt64, _ count: UInt64) throws(Fault) {
        let (end, overflows) = offset.addingReportingOverflow(count)
        guard !overflows, end < UInt64(Int64.max) else { throw damaged("its headers refer to bytes that no file can have") }
        try has(end)
    }

    private func has(_ count: UInt64) throws(Fault) {
        guard size >= count else {
            throw Fault(words: "is cut off: it has \(size) bytes, but its headers refer to \(count); copy the whole file again")
        }
    }

    private func damaged(_ what: String) -> Fault { Fault(words: "is damaged: \(what); install it again") }
}
