// Generates events for benchmarks. The same seed gives the same bytes on every machine.

import Seeded

public enum Data: String, CaseIterable {
    case product, numbers, cjk, escapes, spaced
}

public struct Generator {
    private var random: Seeded
    private let data: Data
    private var milliseconds = 0

    public init(_ data: Data, seed: UInt64) {
        self.data = data
        random = Seeded(state: seed)
    }

    /// Returns about `bytes` bytes of whole lines.
    public mutating func lines(_ bytes: Int) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes + 4096)
        var i = 0
        while text.count < bytes {
            text += event(i).utf8
            text.append(10)
            i += 1
        }
        return text
    }

    private mutating func event(_ i: Int) -> String {
        switch data {
        case .product:
            // SDKs write most events compact in UTF-8, some with spaces, and some escaped.
            let text = product()
            return i % 10 == 8 ? spaced(text) : i % 10 == 7 ? escaped(text) : text
        case .spaced: return spaced(product())
        case .escapes:
            return bulk { $0.phrase(["line one\\nline two", "C:\\\\Temp\\\\x", "say \\\"yes\\\"", "\\u00e9\\ud83d\\ude97", "a\\tb"]) }
        case .cjk: return bulk { $0.phrase(["東京タワーの限定マグカップ", "上海外灘夜景明信片", "서울 한강 공원 산책", "商品の詳細を見る", "¥1,280"]) }
        case .numbers:
            return "{\"type\":\"track\",\"event\":\"Samples\",\"properties\":{\"values\":["
                + (0..<60).map { _ in number() }.joined(separator: ",") + "],\"from\":\(int(1_000_000)),\"to\":\(int(1_000_000_000))}}"
        }
    }

    private mutating func int(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    private mutating func chance(_ percent: Int) -> Bool { int(100) < percent }
    private mutating func pick(_ list: [String]) -> String { list[int(list.count)] }
    private mutating func hex(_ digits: Int) -> String { String((0..<digits).map { _ in "0123456789abcdef".utf8Character(int(16)) }) }
    private mutating func uuid() -> String { "\(hex(8))-\(hex(4))-\(hex(4))-\(hex(4))-\(hex(12))" }
    private mutating func cents(_ bound: Int) -> String { "\(int(bound)).\(1 + int(98))" }
    private func padded(_ n: Int, _ width: Int) -> String {
        let digits = String(n)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    fileprivate mutating func phrase(_ list: [String]) -> String { (0..<3).map { _ in pick(list) }.joined(separator: " ") }

    private mutating func number() -> String {
        switch int(4) {
        case 0: String(int(1000))
        case 1: cents(10_000)
        case 2: "-0.\(padded(int(1_000_000_000), 12))"
        default: "\(int(9) + 1).\(int(1_000_000))e-\(int(20))"
        }
    }

    private mutating func bulk(_ text: (inout Generator) -> String) -> String {
        let names = (0..<8).map { "\"field_\($0)\":\"\(text(&self))\"" }.joined(separator: ",")
        return "{\"type\":\"track\",\"event\":\"Text\",\"messageId\":\"\(uuid())\",\"properties\":{\(names)}}"
    }

    private static let names = [
        "Running shoes ½ size", "Café crème", "東京 タワー mug", "27\\\" monitor", "C:\\\\Temp\\\\x", "plain white t-shirt",
        "Straße 🚗 toy", "line1\\nline2", "tab\\tsep", "O'Reilly book", "coffee beans 1kg",
    ]
    private static let categories = ["shoes", "kitchen", "souvenirs", "electronics", "toys", "books"]

    private mutating func member(_ kind: Int) -> String {
        switch kind {
        case 0: "\"revenue\":\(cents(500))"
        case 1: "\"price\":\(cents(99))"
        case 2: "\"quantity\":\(1 + int(19))"
        case 3: "\"currency\":\"\(pick(["USD", "EUR", "JPY", "BRL"]))\""
        case 4: "\"name\":\"\(pick(Generator.names))\""
        case 5: "\"category\":\"\(pick(Generator.categories))\""
        case 6: "\"sku\":\"\(hex(10))\""
        case 7: "\"in_stock\":\(chance(80))"
        case 8: chance(60) ? "\"coupon\":null" : "\"coupon\":\"\(hex(6))\""
        case 9: "\"position\":\(int(50))"
        case 10: "\"query\":\"\(pick(Generator.names)) \(hex(4))\""
        case 11: "\"duration_ms\":\(int(1_000_000))"
        case 12: "\"ratio\":0.000\(int(9_999_999))"
        case 13: "\"big_id\":\(int(1 << 60))"
        case 14: "\"url\":\"https://shop.example/p/\(hex(8))?ref=\(pick(Generator.categories))\""
        case 15:
            "\"items\":["
                + (0...int(2)).map { _ in "{\"sku\":\"\(hex(6))\",\"qty\":\(1 + int(4)),\"price\":\(cents(50))}" }.joined(separator: ",")
                + "]"
        case 16: "\"tags\":[\"\(pick(Generator.categories))\",\"\(pick(Generator.categories))\"]"
        default: "\"screen\":{\"name\":\"\(pick(Generator.categories))\",\"depth\":\(int(9))}"
        }
    }

    private mutating func product() -> String {
        milliseconds += int(40)
        let seconds = milliseconds / 1000
        let time =
            "\(padded(seconds / 3600 % 24, 2)):\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2)).\(padded(milliseconds % 1000, 3))"
        let type = chance(80) ? "track" : pick(["screen", "identify", "page"])
        let events = [
            "Checkout Started", "Order Completed", "Product Viewed", "Product Added", "Product List Viewed", "Cart Viewed",
            "Application Opened", "Video Playback Paused", "Signed In", "Search Performed",
        ]
        let user = chance(60) ? "\"user_\(int(10_000_000))\"" : "null"
        let device = pick([
            "\"manufacturer\":\"Apple\",\"model\":\"iPhone14,3\",\"type\":\"ios\"",
            "\"manufacturer\":\"Google\",\"model\":\"Pixel 8\",\"type\":\"android\"",
            "\"manufacturer\":\"Samsung\",\"model\":\"SM-S918B\",\"type\":\"android\"",
        ])
        let kinds = (0..<18).shuffled(using: &random).prefix(6 + int(5))
        let properties = kinds.map { member($0) }.joined(separator: ",")
        let library = chance(50) ? ",\"library\":{\"name\":\"analytics-swift\",\"version\":\"1.5.11\"}" : ""
        return
            "{\"type\":\"\(type)\",\"event\":\"\(pick(events))\",\"messageId\":\"\(uuid())\",\"anonymousId\":\"\(uuid())\",\"userId\":\(user),"
            + "\"timestamp\":\"2024-06-10T\(time)Z\",\"properties\":{\(properties)},"
            + "\"context\":{\"app\":{\"name\":\"\(pick(["Shop", "Shop Lite", "Reader", "Arcade"]))\",\"version\":\"\(int(6)).\(int(30)).\(int(9))\",\"build\":\"\(int(9999))\"},"
            + "\"device\":{\(device),\"id\":\"\(uuid())\"},\"os\":{\"name\":\"os\",\"version\":\"17.\(int(9))\"},"
            + "\"ip\":\"\(int(255)).\(int(255)).\(int(255)).\(int(255))\",\"locale\":\"\(pick(["en-US", "de-DE", "fr-FR", "ja-JP", "uk-UA"]))\","
            + "\"consent\":{\"analytics\":\(chance(85)),\"marketing\":\(chance(40))}\(library)}}"
    }

    /// Returns the same event with a space after each colon and comma.
    private func spaced(_ text: String) -> String {
        var out: [UInt8] = []
        var isInString = false
        var isEscape = false
        for byte in text.utf8 {
            out.append(byte)
            if isInString {
                if isEscape { isEscape = false } else if byte == 0x5c { isEscape = true } else if byte == 0x22 { isInString = false }
            } else if byte == 0x22 {
                isInString = true
            } else if byte == 0x2c || byte == 0x3a {
                out.append(0x20)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Returns the same event in ASCII.
    private func escaped(_ text: String) -> String {
        var out = ""
        for unit in text.utf16 {
            if unit < 0x80 {
                out.unicodeScalars.append(UnicodeScalar(UInt8(unit)))
            } else {
                let digits = String(unit, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            }
        }
        return out
    }
}

extension StaticString {
    fileprivate func utf8Character(_ i: Int) -> Character { Character(UnicodeScalar(utf8Start[i])) }
}

extension String {
    fileprivate func utf8Character(_ i: Int) -> Character { self[index(startIndex, offsetBy: i)] }
}
