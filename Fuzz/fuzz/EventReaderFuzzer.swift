// Fuzzes the reader of events for adapters. In every event that the scanner accepts, the reader finds each member where the scanner found
// it, and it reads every value to its end.

import Events
import PluginKit

struct EventReaderFuzzer: Fuzzer {
    private var mutator: Mutator
    private let plants: Bool
    private let paths: PathTrie
    private let wanted: [(slot: Int, path: EventPath)]

    init(seed: UInt64, plants: Bool) throws(PathFault) {
        mutator = Mutator(seed: seed)
        self.plants = plants
        var parsed: [Path] = []
        for text in ["type", "event", "userId", "anonymousId", "a.b", "context.app.version", "context.ip", "context.consent.analytics"] {
            parsed.append(try Path(parsing: text))
        }
        let paths = PathTrie(parsed)
        self.paths = paths
        wanted = (PathTrie.root..<paths.count).map { ($0, EventPath(keys: paths.path(of: $0).keys)) }
    }

    mutating func next() -> (Comparison, input: [UInt8]) {
        let line = mutator.line()
        return (judge(line), line)
    }

    private func judge(_ line: [UInt8]) -> Comparison {
        let padded = line + [UInt8](repeating: UInt8(ascii: "\n"), count: 1 + Block.padding)
        return padded.withUnsafeBufferPointer { text in
            var scanner = Scanner(paths)
            guard let block = text.baseAddress, let event = scanner.scan(block, 0) else { return .invalid }
            // The memory ends with the event, so that the address sanitizer detects a read beyond it.
            let own = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(event.end), alignment: 1)
            defer { own.deallocate() }
            own.copyMemory(from: UnsafeRawBufferPointer(start: block, count: Int(event.end)))
            let value = EventValue(json: UnsafeRawBufferPointer(own))
            for (slot, path) in wanted {
                let place = event.slots[slot]
                let found = value[path]
                let isPlanted = plants && line.count % 31 == 30
                guard (found != nil) == (place.isPresent && !isPlanted) else {
                    return .unexplained("\(path.keys): the scanner finds it: \(place.isPresent), the reader: \(found != nil)")
                }
                guard let found, place.isPresent else { continue }
                guard found.json.elementsEqual(text[Int(place.start)..<Int(place.end)]) else {
                    return .unexplained("\(path.keys): the reader gives \(String(decoding: found.json, as: UTF8.self))")
                }
                if found.kind == .object, found.members.reduce(0, { count, _ in count + 1 }) != Int(place.members) {
                    return .unexplained("\(path.keys): the scanner counts \(place.members) members")
                }
            }
            return EventReaderFuzzer.read(value)
        }
    }

    /// Reads all values of the event and checks what must be true for each of them.
    private static func read(_ event: EventValue) -> Comparison {
        var waiting = [event]
        while let value = waiting.popLast() {
            let isRead =
                switch value.kind {
                case .text: value.repairedText != nil && (value.text == nil || value.text == value.repairedText)
                case .number: value.integer == nil || value.number != nil
                case .flag: value.flag != nil
                case .null: value.json.elementsEqual("null".utf8)
                case .object, .list: value.text == nil
                }
            guard isRead else { return .unexplained("\(value.kind): \(String(decoding: value.json, as: UTF8.self))") }
            waiting += value.elements
            for (key, member) in value.members {
                guard key.kind == .text else { return .unexplained("a key is \(String(decoding: key.json, as: UTF8.self))") }
                waiting.append(member)
            }
        }
        return .valid
    }
}
