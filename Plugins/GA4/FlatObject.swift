// The flat objects of GA4: the parameters of an event, its items, and the properties of a user. What Google would ignore in them while it
// answers 204, such as a name that is reserved, refuses the event with the reason.

import VendorKit

/// What Google takes in one kind of object.
struct FlatRules {
    enum Kind { case parameters, item, userProperties }

    let kind: Kind
    let most: Int
    let longestName: Int
    let longestValue: Int
    /// True if a longer value is cut, false if the event is refused.
    let cuts: Bool

    func item() -> FlatRules {
        FlatRules(kind: .item, most: .max, longestName: longestName, longestValue: longestValue, cuts: cuts)
    }

    /// Names a member in a reason.
    var thing: String {
        switch kind {
        case .parameters: "a parameter"
        case .item: "a parameter of an item"
        case .userProperties: "a user property"
        }
    }

    /// Google takes more characters in some parameters of web pages.
    func longestValue(of name: [UInt8]) -> Int {
        guard kind == .parameters else { return longestValue }
        let long = FlatRules.longValues.first { $0.key.withUTF8Buffer { $0.elementsEqual(name) } }
        return long?.value ?? longestValue
    }

    private static let longValues: KeyValuePairs<StaticString, Int> = ["page_location": 1000, "page_referrer": 420, "page_title": 300]

    static let reservedProperties = TextSet([
        "first_open_time", "first_visit_time", "last_deep_link_referrer", "user_id", "first_open_after_install",
    ])

    /// The parameters of an item that Google has itself. An item has at most 10 others.
    static let itemNames = TextSet([
        "item_id", "item_name", "affiliation", "coupon", "creative_name", "creative_slot", "discount", "index", "item_brand",
        "item_category", "item_category2", "item_category3", "item_category4", "item_category5", "item_list_id", "item_list_name",
        "item_variant", "location_id", "price", "promotion_id", "promotion_name", "quantity",
    ])

    /// The members of a product, in the names of Segment's events for shops.
    static let product: MemberTable = [
        "product_id": "item_id", "name": "item_name", "category": "item_category", "brand": "item_brand", "variant": "item_variant",
        "position": "index",
    ]
}

/// Writes the members of one flat object. If it refuses the event, nothing more may be written for it.
struct FlatObject {
    private let rules: FlatRules
    /// The name of the member that is being written, which begins with the names of the objects around it.
    private var name: [UInt8] = []
    /// The names that have been written, one after another, and where each ends.
    private var names: [UInt8] = []
    private var ends: [Int] = []
    private var ownOfItem = 0
    private(set) var isRefused = false

    init(_ rules: FlatRules) { self.rules = rules }

    var isFull: Bool { ends.count >= rules.most }

    /// Writes the members of an object. Those in the table get other names.
    mutating func add(membersOf object: Value?, renamed table: MemberTable = [:], to wire: inout WireEvents) {
        guard let object else { return }
        for (key, value) in object.members where !isRefused { add(key, value, renamed: table, to: &wire) }
    }

    /// Writes a member with its key of the event.
    mutating func add(_ key: Value, _ value: Value, renamed table: MemberTable = [:], to wire: inout WireEvents) {
        name.removeAll(keepingCapacity: true)
        if rules.kind == .parameters, key.isText("items") || key.isText("products"), value.isList, value.elements.allSatisfy(\.isObject) {
            append("items")
            return items(value, &wire)
        }
        if let row = table.first(where: { key.isText($0.key) }) { append(row.value) } else { append(key, &wire) }
        write(value, &wire)
    }

    /// Writes a member with a name of Google's.
    mutating func add(_ name: StaticString, _ value: Value, to wire: inout WireEvents) {
        self.name.removeAll(keepingCapacity: true)
        append(name)
        write(value, &wire)
    }

    mutating func add(_ name: StaticString, number: Int, to wire: inout WireEvents) {
        self.name.removeAll(keepingCapacity: true)
        append(name)
        guard admit(&wire) else { return }
        wire.member(name, number: number)
    }

    func has(_ name: StaticString) -> Bool { name.withUTF8Buffer { isKnown(Array($0)) } }

    // MARK: - Names

    private mutating func append(_ text: StaticString) { text.withUTF8Buffer { name.append(contentsOf: $0) } }

    private mutating func append(_ key: Value, _ wire: inout WireEvents) {
        if !GA4Name.append(key, to: &name) { refuse("has a name with characters that are not ASCII", &wire) }
    }

    private func isKnown(_ name: [UInt8]) -> Bool {
        var start = 0
        for end in ends {
            if end - start == name.count, names[start..<end].elementsEqual(name) { return true }
            start = end
        }
        return false
    }

    /// Returns true if Google takes another member, and one of this name.
    private mutating func admit(_ wire: inout WireEvents) -> Bool {
        if isRefused { return false }
        if let fault = fault { refuse(fault, &wire) }
        names += name
        ends.append(names.count)
        return !isRefused
    }

    private var fault: String? {
        mutating get {
            if name.count > rules.longestName { return "has a name of more than \(rules.longestName) characters" }
            if !GA4Name.beginsWithLetter(name) { return "has a name that does not begin with a letter" }
            let isReserved = name.withUnsafeBufferPointer { rules.kind == .userProperties && FlatRules.reservedProperties.contains($0) }
            if isReserved || GA4Name.hasReservedPrefix(name) { return "has a name that Google reserves" }
            if isKnown(name) { return "has the name of another one" }
            if isFull { return "is one more than the \(rules.most) that Google takes" }
            if rules.kind == .item, !name.withUnsafeBufferPointer(FlatRules.itemNames.contains) { ownOfItem += 1 }
            return ownOfItem > 10 ? "is one more than the 10 that Google takes besides its own" : nil
        }
    }

    private mutating func refuse(_ words: String, _ wire: inout WireEvents) {
        isRefused = true
        wire.refuse("\(rules.thing) \(words)")
    }

    // MARK: - Values

    private mutating func write(_ value: Value, _ wire: inout WireEvents) {
        guard !isRefused, !value.isNull else { return }
        if value.isObject { return nested(value, &wire) }
        guard admit(&wire) else { return }
        name.withUnsafeBufferPointer { wire.write(plainKey: $0) }
        let longest = rules.longestValue(of: name)
        if rules.kind == .userProperties { wire.put("{\"value\":") }
        if value.isList {
            joined(value, longest, &wire)
        } else if value.isText {
            text(value, longest, &wire)
        } else if value.isNumber, value.count > longest || value.event.number == nil {
            refuse("has a number that is too long or too large", &wire)
        } else {
            wire.put(bytes: value.json)
        }
        if rules.kind == .userProperties { wire.put(byte: UInt8(ascii: "}")) }
    }

    /// Writes the members of an object with its name before theirs.
    private mutating func nested(_ object: Value, _ wire: inout WireEvents) {
        let end = name.count
        // A name grows with each object, so this also bounds the depth.
        if end > rules.longestName { return refuse("has a name of more than \(rules.longestName) characters", &wire) }
        for (key, value) in object.members where !isRefused {
            name.append(UInt8(ascii: "_"))
            append(key, &wire)
            write(value, &wire)
            name.removeSubrange(end...)
        }
    }

    private mutating func text(_ value: Value, _ longest: Int, _ wire: inout WireEvents) {
        let body = value.body
        // Only a text that can be a date is parsed as one.
        if body.count >= 10, body[4] == UInt8(ascii: "-"), let time = value.time { return wire.put(time: time, as: .seconds) }
        var room = longest
        let kept = value.body(within: &room)
        if kept.count < body.count {
            if !rules.cuts { return refuse("has a value of more than \(longest) characters", &wire) }
            wire.loses("\(rules.thing) has a value of more than \(longest) characters, which is cut")
        }
        wire.put(byte: UInt8(ascii: "\""))
        wire.put(bytes: UnsafeRawBufferPointer(kept))
        wire.put(byte: UInt8(ascii: "\""))
    }

    /// Writes the elements of a list as one text, with commas between them.
    private mutating func joined(_ list: Value, _ longest: Int, _ wire: inout WireEvents) {
        wire.put(byte: UInt8(ascii: "\""))
        var room = longest
        for (index, element) in list.elements.enumerated() {
            if element.isObject || element.isList { return refuse("is a list that holds objects or lists", &wire) }
            var isWhole = index == 0 || room > 0
            if index > 0, isWhole {
                room -= 1
                wire.put(byte: UInt8(ascii: ","))
            }
            if element.isText {
                let kept = element.body(within: &room)
                wire.put(bytes: UnsafeRawBufferPointer(kept))
                isWhole = isWhole && kept.count == element.body.count
            } else if !element.isNull {
                isWhole = isWhole && element.count <= room
                if isWhole { wire.put(bytes: element.json) }
                room -= element.count
            }
            if isWhole { continue }
            if rules.cuts {
                wire.loses("\(rules.thing) has a value of more than \(longest) characters, which is cut")
                break
            }
            return refuse("has a value of more than \(longest) characters", &wire)
        }
        wire.put(byte: UInt8(ascii: "\""))
    }

    private mutating func items(_ list: Value, _ wire: inout WireEvents) {
        guard admit(&wire) else { return }
        wire.openList("items")
        for (index, item) in list.elements.enumerated() {
            guard index < 200 else { return refuse("is a list of more than 200 items", &wire) }
            var flat = FlatObject(rules.item())
            wire.openObject()
            flat.add(membersOf: item, renamed: FlatRules.product, to: &wire)
            wire.closeObject()
            isRefused = flat.isRefused
            if isRefused { return }
        }
        wire.closeList()
    }
}
