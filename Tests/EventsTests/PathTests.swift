// Tests paths as text, and the trie of the paths that rules name.

import Events
import Seeded
import Testing

@Suite("Paths") struct PathTests {
    static let good: [(String, [String])] = [
        ("a", ["a"]), ("a.b.c", ["a", "b", "c"]), (#"properties["a.b"].c"#, ["properties", "a.b", "c"]), (#"["x"]"#, ["x"]),
        (#"['x'].y"#, ["x", "y"]),
        (#"a['it\'s "so"']"#, ["a", "it's \"so\""]),
        (#"a["\"\\\'\n\t\r\u00e9\U0001F697\x41\101"]"#, ["a", "\"\\'\n\t\ré🚗AA"]),
        (#"a["b"]["c"]"#, ["a", "b", "c"]), (#"[""]"#, [""]), ("é.東", ["é", "東"]), ("a b.c-d", ["a b", "c-d"]), (#"["["].x"#, ["[", "x"]),
    ]

    @Test("a text is parsed into its keys, and written back equivalently", arguments: good.indices) func reading(row: Int) throws {
        let (text, keys) = PathTests.good[row]
        let path = try Path(parsing: text)
        #expect(path.keys == keys)
        #expect(try Path(parsing: path.description) == path)
    }

    static let bad: [(String, Int, String)] = [
        ("", 0, "a path needs a key"), (".a", 0, "expected a key"), ("a.", 2, "expected a key"), ("a..b", 2, "expected a key"),
        ("a[", 2, "expected a key in quotes after '['"), ("a[0]", 2, "expected a key in quotes after '['"),
        (#"a["b"#, 2, "this quote is not closed"), (#"a["b"c"#, 5, "expected ']' after the key"),
        (#"a["b"]c"#, 6, "expected '.' or '[' between two keys"),
        ("a]b", 1, "a key that holds this character is written as [\"…\"]"),
        ("a\"b", 1, "a key that holds this character is written as [\"…\"]"),
        ("\"a\"", 0, "write this key as [\"…\"]"), (#"a["\q"]"#, 3, "there is no such escape"),
        (#"a["x\u12"]"#, 4, "this escape needs 4 hexadecimal digits"),
        (#"a["\ud800"]"#, 3, "this escape names no character"), (#"a["\"#, 3, "an escape needs a character after '\\'"),
        (#"a.["b"]"#, 2, "write this key as [\"…\"]"),
        (#"a["\189"]"#, 3, "this escape needs 3 octal digits"),
    ]

    @Test("a text that is not a path is refused with the place of the error", arguments: bad.indices) func refusing(row: Int) {
        let (text, offset, message) = PathTests.bad[row]
        #expect(throws: PathFault(message, at: offset)) { try Path(parsing: text) }
    }

    @Test("any keys can be written and parsed again") func roundTrip() throws {
        var random = Seeded(state: 5)
        let scalars: [UnicodeScalar] = ["a", ".", "[", "]", "\"", "'", "\\", "\n", "\0", "\u{7f}", "é", "\u{301}", "🚗", " "]
        for _ in 0..<2000 {
            let keys = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                var key = ""
                for _ in 0..<Int.random(in: 0...4, using: &random) { key.unicodeScalars.append(scalars.randomElement(using: &random)!) }
                return key
            }
            let path = Path(keys: keys)
            #expect(try Path(parsing: path.description) == path, "\(path)")
        }
    }

    @Test("keys are compared by their bytes, not by Unicode equivalence") func bytes() {
        #expect(Path(keys: ["e\u{301}"]) != Path(keys: ["\u{e9}"]))
        #expect(Set([Path(keys: ["e\u{301}"]), Path(keys: ["\u{e9}"]), Path(keys: ["\u{e9}"])]).count == 2)
    }
}

@Suite("The trie of paths") struct PathTrieTests {
    @Test("every path and ancestor has a slot, with parent, children and key") func structure() throws {
        let trie = paths("a.b.c", "a.d", "e", "a.b.c")
        #expect(trie.count == 7)
        let a = try #require(trie.slot(of: Path(keys: ["a"])))
        let b = try #require(trie.slot(of: Path(keys: ["a", "b"])))
        let d = try #require(trie.slot(of: Path(keys: ["a", "d"])))
        #expect(trie.slot(of: Path(keys: [])) == PathTrie.root)
        #expect(trie.parent(of: a) == PathTrie.root && trie.parent(of: PathTrie.root) == 0 && trie.parent(of: b) == a)
        #expect(trie.children(of: a) == [b, d])
        #expect(trie.key(of: b) == "b" && trie.path(of: b) == Path(keys: ["a", "b"]))
        #expect(trie.slot(of: Path(keys: ["b"])) == nil && trie.slot(of: Path(keys: ["a", "b", "c", "d"])) == nil)
    }

    @Test("each of many keys of one object is found, and none is mistaken for another", arguments: [1, 2, 7, 8, 31, 33, 500])
    func manyKeys(count: Int) {
        let shapes: [(Int) -> String] = [
            { "k\($0)" }, { "a_long_common_prefix_\($0)" }, { "\($0)_a_long_common_suffix" }, { "a_long_common_\($0)_in_the_middle" },
            { String(repeating: "x", count: $0 % 90) + "\($0)" },
        ]
        for shape in shapes {
            let keys = (0..<count).map(shape)
            let trie = PathTrie(keys.map { Path(keys: [$0]) })
            let text = "{" + (0..<count + 20).map { "\"\(shape($0))\":\($0)" }.joined(separator: ",") + "}"
            let line = Array(text.utf8)
            let result = scan(line, trie)
            #expect(result.isEvent)
            for (i, key) in keys.enumerated() {
                let slot = result.slots[trie.slot(of: Path(keys: [key]))!]
                #expect(String(decoding: line[Int(slot.start)..<Int(slot.end)], as: UTF8.self) == String(i))
            }
            #expect(result.slots.dropFirst(2).count { $0.isPresent } == count)
        }
    }

    @Test("keys that differ only outside of their first and last words are distinguished") func middles() {
        let keys = (10..<40).map { "12345678\($0)90123456" }
        let trie = PathTrie(keys.map { Path(keys: [$0]) })
        for key in keys {
            let slots = scan(Array("{\"\(key)\":1,\"12345678__90123456\":2}".utf8), trie).slots
            #expect(slots.dropFirst(2).count { $0.isPresent } == 1 && slots[trie.slot(of: Path(keys: [key]))!].isPresent)
        }
    }

    @Test("a long wanted key is compared with a short key without a read beyond the line and its padding") func longKeys() {
        let long = String(repeating: "x", count: 200)
        let trie = PathTrie([Path(keys: [long])])
        for byte in UInt8(0x23)...0x5b {
            for count in 1...8 {
                let key = String(repeating: Character(UnicodeScalar(byte)), count: count)
                #expect(scan(Array("{\"\(key)\":1}".utf8), trie).slots.dropFirst(2).allSatisfy { !$0.isPresent })
            }
        }
        for place in [0, 7, 8, 55, 56, 63, 64, 100, 191, 192, 199] {
            var other = Array(long.utf8)
            #expect(scan(Array("{\"".utf8) + other + Array("\":1}".utf8), trie).slots[2].isPresent)
            other[place] = UInt8(ascii: "y")
            #expect(!scan(Array("{\"".utf8) + other + Array("\":1}".utf8), trie).slots[2].isPresent)
        }
    }
}
