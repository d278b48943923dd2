// The body of an answer as JSON. An answer is foreign, so it is validated completely before any part of it is read.

internal import Events

extension Reply {
    /// Calls `use` with the body as one value of JSON, or with nil if it is none or was cut. The bytes are valid only during the call, and a
    /// byte behind them can be read.
    package func withValidJSON<R>(_ use: (UnsafeBufferPointer<UInt8>?) -> R) -> R {
        let last = body.lastIndex { $0 > 0x20 }
        guard !isCut, let last else { return use(nil) }
        var block = Block(capacity: body.count + 8)
        block.text.append("{\"b\":")
        // The scanner reads one line. A newline is a space between values, and is not valid inside a text, which then has a space.
        for byte in body[...last] { block.text.append(byte == UInt8(ascii: "\n") ? UInt8(ascii: " ") : byte) }
        block.text.append("}")
        block.seal()
        let trie = PathTrie([Path(keys: ["b"])])
        var scanner = Scanner(trie)
        guard let scanned = scanner.scan(block.bytes, 0), let slot = trie.slot(of: Path(keys: ["b"])) else { return use(nil) }
        let place = scanned.slots[slot]
        // What is more than one value, such as `1,"c":2`, also makes an event here.
        guard place.isPresent, Int(place.end) == "{\"b\":".utf8.count + last + 1 else { return use(nil) }
        return use(UnsafeBufferPointer(start: block.bytes + Int(place.start), count: Int(place.end - place.start)))
    }
}
