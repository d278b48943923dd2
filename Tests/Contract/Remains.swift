// What a module leaves behind in its process and in the working folder: memory, descriptors, threads, children and files.

import CPlatform
import Foundation
import Glibc
import Platform

/// What grows where something is never given back.
struct Footprint {
    /// Of the allocator, in use; 0 under a sanitizer, which has one of its own.
    var memory: Int
    var descriptors: Int
    var threads: Int
    var children: Int

    static func now() -> Footprint {
        Footprint(
            memory: Int(cplatform_memory_in_use()), descriptors: entries("/proc/self/fd"), threads: entries("/proc/self/task"),
            children: childCount)
    }

    /// By the system's own calls, which keep nothing, so that looking is not what grows.
    private static func names(_ folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    private static func entries(_ folder: String) -> Int { names(folder).count }

    private static var childCount: Int {
        names("/proc/self/task").reduce(0) { sum, thread in
            guard let file = fopen("/proc/self/task/\(thread)/children", "re") else { return sum }
            defer { fclose(file) }
            var text = [UInt8](repeating: 0, count: 4096)
            return sum + text[..<fread(&text, 1, text.count, file)].split(separator: UInt8(ascii: " ")).count
        }
    }
}

/// Repeats something and compares what it has come to after each part of it. The first part may fill caches and start what stays. Of
/// the others each must have grown for a leak: what is given back late, or is twice as large once, has not.
struct Growth {
    static let parts = 6
    private var marks: [Footprint] = []

    mutating func mark() { marks.append(.now()) }

    /// What is never given back, in words; `turns` is how often each part did it.
    func leak(turns: Int, withMemory: Bool) -> String? {
        func least(_ size: (Footprint) -> Int) -> Int { zip(marks, marks.dropFirst()).map { size($1) - size($0) }.min() ?? 0 }
        var leaks: [String] = []
        let memory = least(\.memory)
        // Eight bytes each time are less than the smallest piece that the allocator gives.
        if withMemory, memory >= 8 * turns { leaks.append("at least \(memory) bytes of memory") }
        for (name, count) in [("descriptors", least(\.descriptors)), ("threads", least(\.threads)), ("children", least(\.children))]
        where count > 0 {
            leaks.append("at least \(count) \(name)")
        }
        return leaks.isEmpty ? nil : "\(leaks.joined(separator: " and ")) are not given back with each \(turns) of them"
    }
}

/// What was there before an instance was made, so that what it makes is seen.
struct Dependencies {
    private var files: [String: String]
    private var open: Set<String>
    private let children = Footprint.now().children

    init(_ folder: String) {
        files = [:]
        let walker = FileManager.default.enumerator(atPath: folder)
        while let name = walker?.nextObject() as? String {
            var status = stat()
            guard lstat(folder + "/" + name, &status) == 0 else { continue }
            files[name] = "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(status.st_mode)"
        }
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        open = Set(
            numbers.compactMap { number in
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)).map { number + " " + $0 }
            })
    }

    /// What is there now and was not, or has changed.
    func news(_ folder: String) -> String? {
        let now = Dependencies(folder)
        if let name = now.files.keys.sorted().first(where: { files[$0] != now.files[$0] }) { return "it wrote \(name)" }
        if let name = files.keys.sorted().first(where: { now.files[$0] == nil }) { return "it removed \(name)" }
        // A wake-up, a timer, a pipe or a pair of sockets of its own is no connection.
        let targets = now.open.subtracting(open).filter { !$0.contains(" socket:") || isConnection($0) }
            .map { $0.drop { $0 != " " }.dropFirst() }.filter { target in
                target.hasPrefix("socket:") || target.hasPrefix("/") && !target.hasPrefix("/proc/") && !target.contains(".so")
            }
        if let target = targets.sorted().first { return "it has opened \(target)" }
        return now.children > children ? "it has started a program" : nil
    }
}

/// Whether the socket of that number is one of the network, or has a peer with a name.
private func isConnection(_ descriptor: String) -> Bool {
    guard let number = Int32(descriptor.prefix { $0 != " " }) else { return false }
    var address = sockaddr_un()
    var size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isNamed = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            getpeername(number, $0, &size) == 0 || getsockname(number, $0, &size) == 0
        }
    }
    return isNamed && (address.sun_family != sa_family_t(AF_UNIX) || size > MemoryLayout<sa_family_t>.size)
}

/// A file that has one line for each event that has arrived.
final class Destination {
    private let path: String
    private var offset = 0
    private(set) var lines = 0

    init(_ path: String) { self.path = path }

    /// How many lines have come since this was asked last.
    func arrived() -> Int {
        guard let file = FileHandle(forReadingAtPath: path) else { return 0 }
        defer { try? file.close() }
        try? file.seek(toOffset: UInt64(offset))
        let data = (try? file.readToEnd()) ?? Data()
        offset += data.count
        let count = data.reduce(0) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
        lines += count
        return count
    }
}
