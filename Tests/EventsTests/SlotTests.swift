// Tests the places of the wanted members.

import Events
import Testing

@Suite("Slots") struct SlotTests {
    /// Returns the text of the value at a path, found by every method of searching. Returns nil if it is absent.
    func value(_ text: String, _ path: String, _ wanted: PathTrie, before: Int = 0) -> String? {
        let line = Array(text.utf8)
        var found: Set<String?> = []
        for lookahead in Lookahead.supported {
            let result = scan(line, wanted, lookahead: lookahead, before: before)
            guard result.isEvent, let slot = wanted.slot(of: try! Path(parsing: path)) else { return "no event" }
            let range = result.slots[slot]
            found.insert(
                range.isPresent ? String(decoding: line[Int(range.start) - before..<Int(range.end) - before], as: UTF8.self) : nil)
        }
        #expect(found.count == 1)
        return found.first ?? nil
    }

    let wanted = paths("type", "a.b", "context.app.version", "context.ip", "anonymousId", #"properties["a.b"].c"#, #"["é"]"#)

    @Test("a wanted member is found at any place") func places() {
        for before in [0, 1, 1000] {
            #expect(value(#"{"type":"t"}"#, "type", wanted, before: before) == "\"t\"")
            #expect(value(#" { "x":{"type":1}, "type" : 1e400 } "#, "type", wanted, before: before) == "1e400")
            #expect(value(#"{"a":{"b":[1,{"b":2}]}}"#, "a.b", wanted, before: before) == #"[1,{"b":2}]"#)
            #expect(value(#"{"a":{"b":[1,{"b":2}]}}"#, "a", wanted, before: before) == #"{"b":[1,{"b":2}]}"#)
            #expect(value(#"{"context":{"x":[{}],"app":{"version":null}},"z":0}"#, "context.app.version", wanted, before: before) == "null")
            #expect(value(#"{"context":{"app":{},"ip":[]}}"#, "context.app", wanted, before: before) == "{}")
            #expect(value(#"{"context":{"app":{},"ip":[]}}"#, "context.ip", wanted, before: before) == "[]")
            #expect(value(#"{"properties":{"a.b":{"c":true}}}"#, #"properties["a.b"].c"#, wanted, before: before) == "true")
            #expect(value(#"{"é":false}"#, #"["é"]"#, wanted, before: before) == "false")
        }
    }

    @Test("paths lead into objects, not into lists, and similar keys are not found") func absent() {
        #expect(value(#"{"a":[{"b":1}]}"#, "a.b", wanted) == nil)
        #expect(value(#"{"b":1,"x":{"a":{"b":2}}}"#, "a.b", wanted) == nil)
        for key in ["anonymousIe", "anonymousI", "anonymousId ", "anonymousID", "", "bnonymousId"] {
            #expect(value("{\"\(key)\":1}", "anonymousId", wanted) == nil)
        }
        #expect(value(#"{"e\u0301":1}"#, #"["é"]"#, wanted) == nil)
        #expect(value(#"{"properties":{"a":{"b":{"c":1}}}}"#, #"properties["a.b"].c"#, wanted) == nil)
    }

    @Test("a key with escapes is the same key") func escapedKeys() {
        #expect(value(#"{"ty\u0070e":"t"}"#, "type", wanted) == "\"t\"")
        #expect(value(#"{"\u0061":{"\u0062":7}}"#, "a.b", wanted) == "7")
        #expect(value(#"{"\u00e9":1}"#, #"["é"]"#, wanted) == "1")
        #expect(value(#"{"\ud800":1,"type\ud800":2}"#, "type", wanted) == nil)
        let quoted = PathTrie([Path(keys: ["a\"b\\c\n"]), Path(keys: ["🚗"])])
        #expect(value(#"{"a\"b\\c\n":5}"#, #"["a\"b\\c\n"]"#, quoted) == "5")
        #expect(value(#"{"\ud83d\ude97":6}"#, "🚗", quoted) == "6")
    }

    @Test("a slot contains the place of its key, and for an object the number of members") func keysAndMembers() {
        let line = Array(#" {"x":[1,2], "a" : {"b":1,"c":{"d":2},"e":3}, "type":"t" } "#.utf8)
        for lookahead in Lookahead.supported {
            let slots = scan(line, wanted, lookahead: lookahead).slots
            let root = slots[PathTrie.root]
            #expect((root.start, root.end, root.members) == (1, UInt32(line.count - 1), 3))
            let a = slots[wanted.slot(of: Path(keys: ["a"]))!]
            #expect(a.members == 3 && line[Int(a.key)...].starts(with: "\"a\" :".utf8))
            #expect(slots[0].end == 0)
        }
    }

    @Test("a duplicate of a wanted member, even if escaped, makes the event invalid; other duplicates do not")
    func duplicates() {
        for text in [
            #"{"type":1,"type":2}"#, #"{"type":1,"ty\u0070e":2}"#, #"{"context":{"ip":1},"context":5}"#, #"{"a":{"b":1,"b":2}}"#,
            #"{"a":1,"x":2,"a":{}}"#, #"{"context":{"app":{"version":1},"app":{}}}"#, #"{"type":null,"type":null}"#,
        ] {
            #expect(scan(Array(text.utf8), wanted).fault?.kind == .duplicate, "\(text)")
        }
        for text in [
            #"{"x":{"type":1,"type":2}}"#, #"{"x":1,"x":2}"#, #"{"a":[{"b":1,"b":2}]}"#, #"{"type":{"b":1,"b":2}}"#,
            #"{"context":{"type":1,"y":{"ip":1,"ip":2}}}"#, #"{"\ud800":1,"\ud800":2}"#,
        ] {
            #expect(scan(Array(text.utf8), wanted).isEvent, "\(text)")
        }
    }

    @Test("the slots of a line contain nothing of an earlier line") func recycling() {
        for lookahead in Lookahead.supported {
            var scanner = Scanner(wanted, lookahead: lookahead)
            let full = Array(#"{"type":1,"a":{"b":2},"context":{"ip":3,"app":{"version":4}},"anonymousId":5}"#.utf8)
            let fresh = scan(Array(#"{"x":1}"#.utf8), wanted).slots
            for broken in [full, Array(full.dropLast()), full + [0x78], Array(full[..<40])] {
                _ = scan(broken, wanted, with: &scanner)
                #expect(scan(Array(#"{"x":1}"#.utf8), wanted, with: &scanner).slots == fresh)
            }
            #expect(scan(full, wanted, with: &scanner).slots == scan(full, wanted).slots)
        }
    }

    @Test("lines of a block are scanned one after the other; one carriage return belongs to the line end") func lines() {
        var block = Block()
        block.text.append("{\"a\":1}\r\n\n \r\n  {\"a\":2}  \n{}\r\r\nbad\r\n{\"a\":3}")
        block.seal()
        var scanner = Scanner(paths("a"))
        var seen: [String] = []
        var at: UInt32 = 0
        while at < UInt32(block.count) {
            if let event = scanner.scan(block.bytes, at) {
                #expect(event.start == at)
                let range = UnsafeBufferPointer(start: event.block + Int(event.start), count: Int(event.end - event.start))
                seen.append(String(decoding: range, as: UTF8.self))
            } else {
                seen.append("\(scanner.fault.kind)@\(scanner.fault.offset)")
            }
            at = scanner.lineEnd + 1
        }
        #expect(seen == ["{\"a\":1}", "blank@9", "blank@11", "  {\"a\":2}  ", "{}\r", "notAnObject@30", "{\"a\":3}"])
    }
}
