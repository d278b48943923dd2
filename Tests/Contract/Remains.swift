// Finds what a module leaves in its process and in the working folder: memory, descriptors, threads, children and files.

import CPlatform
import Glibc
import Platform

/// The resources in use. They grow if a module never releases something.
struct Footprint {
    /// The bytes that the allocator has in use. It is 0 under a sanitizer, which has an allocator of its own.
    var memory: Int
    var descriptors: Int
    var threads: Int
    var children: Int

    static func now() -> Footprint {
        Footprint(
            memory: Int(cplatform_memory_in_use()), descriptors: entries("/proc/self/fd"), threads: entries("/proc/self/task"),
            children: childCount)
    }

    private static func entries(_ folder: String) -> Int { Files.names(folder).count }

    private static var childCount: Int {
        Files.names("/proc/self/task").reduce(0) { sum, thread in
            guard let file = fopen("/proc/self/task/\(thread)/children", "re") else { return sum }
            defer { fclose(file) }
            var text = [UInt8](repeating: 0, count: 4096)
            return sum + text[..<fread(&text, 1, text.count, file)].split(separator: UInt8(ascii: " ")).count
        }
    }
}

/// Compares the resources in use after each part of a repetition. The first part may fill caches and start things that stay. There is a
/// leak only if each of the other parts has grown. So a late release, or a single growth, is not a leak.
struct Growth {
    static let parts = 6
    private var marks: [Footprint] = []

    mutating func mark() { marks.append(.now()) }

    /// Returns a message about what is never released, or nil if there is no leak. `turns` is the number of repetitions in each part.
    func leak(turns: Int, withMemory: Bool) -> String? {
        func least(_ size: (Footprint) -> Int) -> Int { zip(marks, marks.dropFirst()).map { size($1) - size($0) }.min() ?? 0 }
        var leaks: [String] = []
        let memory = least(\.memory)
        // Eight bytes in each turn are less than the smallest allocation.
        if withMemory, memory >= 8 * turns { leaks.append("at least \(memory) bytes of memory") }
        for (name, count) in [("descriptors", least(\.descriptors)), ("threads", least(\.threads)), ("children", least(\.children))]
        where count > 0 {
            leaks.append("at least \(count) \(name)")
        }
        return leaks.isEmpty ? nil : "\(leaks.joined(separator: " and ")) are not released after each \(turns) repetitions"
    }
}

/// The files, descriptors and children at one moment. A comparison with a later moment shows what an instance has made.
struct Dependencies {
    private var files: [String: String]
    private var open: Set<String>
    private let children = Footprint.now().children

    init(_ folder: String) {
        var found: [String: String] = [:]
        Files.walk(folder) { name, status in
            found[name] = "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(status.st_mode)"
        }
        files = found
        open = Set(
            Files.names("/proc/self/fd").compactMap { number in
                Files.target("/proc/self/fd/" + number).map { number + " " + $0 }
            })
    }

    /// Returns a message about something that is new, has changed or was removed since then. It returns nil if there is nothing.
    func news(_ folder: String) -> String? {
        let now = Dependencies(folder)
        if let name = now.files.keys.sorted().first(where: { files[$0] != now.files[$0] }) { return "it wrote \(name)" }
        if let name = files.keys.sorted().first(where: { now.files[$0] == nil }) { return "it removed \(name)" }
        // An event descriptor, a timer, a pipe or a private pair of sockets is not a connection.
        let targets = now.open.subtracting(open).filter { !$0.contains(" socket:") || isConnection($0) }
            .map { $0.drop { $0 != " " }.dropFirst() }.filter { target in
                target.hasPrefix("socket:") || target.hasPrefix("/") && !target.hasPrefix("/proc/") && !target.contains(".so")
            }
        if let target = targets.sorted().first { return "it has opened \(target)" }
        return now.children > children ? "it has started a program" : nil
    }
}

/// Returns true if the socket with that number is a network socket, or its own or its peer's address has a name.
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

/// A file that gets one line for each event that arrives at the destination.
final class Destination {
    private let path: String
    private var offset = 0

    init(_ path: String) { self.path = path }

    /// Returns the number of lines that have come since the last call.
    func arrived() -> Int {
        let data = (try? Files.contents(path, from: offset)) ?? []
        offset += data.count
        return data.reduce(0) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    }
}
