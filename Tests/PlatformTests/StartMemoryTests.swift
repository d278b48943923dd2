import Glibc
import Platform
import Testing

@Suite("The memory that only the start needed", .serialized)
struct StartMemoryTests {
    private static let size = 64 * 4096

    /// A private mapping of a file whose bytes are their places.
    private struct Mapping: ~Copyable {
        let memory: UnsafeMutableRawPointer

        init() throws {
            let folder = try TestFolder()
            let file = Descriptor(owning: open(folder.path + "/file", O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
            let bytes = (0..<StartMemoryTests.size).map { UInt8(truncatingIfNeeded: $0 / 7) }
            try bytes.withUnsafeBytes { try writeAll(file.number, $0) }
            let mapped = mmap(nil, StartMemoryTests.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.number, 0)
            guard let mapped, mapped != MAP_FAILED else { throw SystemFault() }
            memory = mapped
        }

        deinit { munmap(memory, StartMemoryTests.size) }

        /// Nobody can write the mapping from now on.
        func seal() { mprotect(memory, StartMemoryTests.size, PROT_READ) }

        /// Returns the first place with another byte than the file, or nil.
        func firstChange() -> Int? {
            let bytes = UnsafeRawBufferPointer(start: memory, count: StartMemoryTests.size)
            return bytes.indices.first { bytes[$0] != UInt8(truncatingIfNeeded: $0 / 7) }
        }

        /// The kilobytes of the mapping that are in memory.
        var resident: Int {
            let wanted = String(UInt(bitPattern: memory), radix: 16) + "-"
            var isFound = false
            guard let maps = fopen("/proc/self/smaps", "re") else { return -1 }
            defer { fclose(maps) }
            var line: UnsafeMutablePointer<CChar>?
            var size = 0
            defer { free(line) }
            while getline(&line, &size, maps) > 0 {
                let text = String(cString: line!)
                if text.hasPrefix(wanted) { isFound = true }
                if isFound, text.hasPrefix("Rss:") { return Int(text.filter(\.isNumber)) ?? -1 }
            }
            return -1
        }
    }

    @Test("is given back where it is the same as in its file, and comes back with the same bytes")
    func clean() throws {
        let mapping = try Mapping()
        mapping.seal()
        #expect(mapping.firstChange() == nil)
        #expect(mapping.resident == StartMemoryTests.size / 1024)
        StartMemory.giveBack()
        #expect(mapping.resident == 0)
        #expect(mapping.firstChange() == nil)
    }

    @Test("stays where a page differs from its file, or can be written")
    func changed() throws {
        let sealed = try Mapping()
        let open = try Mapping()
        sealed.memory.storeBytes(of: 0xA5, toByteOffset: 5000, as: UInt8.self)
        sealed.seal()
        open.memory.storeBytes(of: 0xA5, toByteOffset: 5000, as: UInt8.self)
        StartMemory.giveBack()
        #expect(sealed.firstChange() == 5000)
        #expect(open.firstChange() == 5000)
    }

    @Test("is kept if there is something to read, which needs it again")
    func input() throws {
        let ends = try makePipe()
        let reading = Descriptor(owning: ends.reading)
        let writing = Descriptor(owning: ends.writing)
        #expect(!StartMemory.hasInput(reading.number))
        try [UInt8(10)].withUnsafeBytes { try writeAll(writing.number, $0) }
        #expect(StartMemory.hasInput(reading.number))
    }
}
