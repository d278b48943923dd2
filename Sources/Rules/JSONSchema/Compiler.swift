// Compiles a schema with all schemas that it refers to. A keyword that the draft 2020-12 does not know is an annotation. A value that the
// metaschema refuses, or a reference that leads nowhere, is a fault with its place.

internal import Document
internal import Events
internal import Expressions

extension SchemaCompiler {
    /// Returns the index of the schema.
    mutating func compile(_ place: SchemaPlace) throws(SchemaFault) -> Int {
        if let index = known[place.identity] { return index }
        let text = documents.sharedText(of: place)
        if let text, let index = shared[text] {
            known[place.identity] = index
            return index
        }
        guard rules.count < JSONSchema.mostSubschemas else { throw fault(place, "more than \(JSONSchema.mostSubschemas) subschemas") }
        let index = rules.count
        known[place.identity] = index
        rules.append(SchemaRule())
        var rule = SchemaRule()
        rule.resource = place.resource
        listDynamicPlaces(of: place.resource)
        switch place.node.value {
        case .bool(let isTrue): rule.isSatisfiable = isTrue
        case .object:
            try readValues(&rule, place)
            try readStrings(&rule, place)
            try readLists(&rule, place)
            try readObjects(&rule, place)
            try readCombinations(&rule, place)
        default: throw fault(place, "must be a schema: an object, true or false, is \(place.node.kind)")
        }
        rules[index] = rule
        // A schema with a fault is not shared, so that each place of the fault is reported.
        if let text { shared[text] = index }
        // The dynamic places of a resource are compiled after its schemas have their indices.
        try compileDynamicPlaces()
        return index
    }

    /// A fault in a document of the program itself has no offset. It is reported at the schema that refers to it.
    func fault(_ place: SchemaPlace, _ message: String) -> SchemaFault {
        SchemaFault(offset: documents.offset(of: place) ?? 0, message: message)
    }

    private func child(_ node: Node, of place: SchemaPlace) -> SchemaPlace {
        SchemaPlace(node: node, document: place.document, resource: documents.resource(of: node, in: place))
    }

    private mutating func schema(_ key: String, _ place: SchemaPlace) throws(SchemaFault) -> Int {
        guard let node = place.node[key] else { return -1 }
        return try compile(child(node, of: place))
    }

    private mutating func schemas(_ key: String, _ place: SchemaPlace) throws(SchemaFault) -> UnsafeBufferPointer<Int> {
        guard let node = place.node[key] else { return UnsafeBufferPointer(start: nil, count: 0) }
        guard let items = node.items else { throw fault(child(node, of: place), "\(key) must be a list of schemas, is \(node.kind)") }
        var list: [Int] = []
        for item in items { list.append(try compile(child(item, of: place))) }
        return store.list(list)
    }

    private func count(_ key: String, _ place: SchemaPlace, otherwise: Int) throws(SchemaFault) -> Int {
        guard let number = try number(key, place) else { return otherwise }
        guard number.isInteger, !number.isNegative || number.isZero else {
            throw fault(child(place.node[key]!, of: place), "\(key) must be an integer of at least 0")
        }
        if number.isZero { return 0 }
        return number.power > 15 ? .max : number.integer
    }

    private func number(_ key: String, _ place: SchemaPlace) throws(SchemaFault) -> DecimalText? {
        guard let node = place.node[key] else { return nil }
        guard case .number = node.value else { throw fault(child(node, of: place), "\(key) must be a number, is \(node.kind)") }
        let text = documents.text(of: node, in: place.document)
        return DecimalText(text.base, text.base + text.count)
    }

    private func names(_ node: Node, _ key: String, _ place: SchemaPlace) throws(SchemaFault) -> [String] {
        var names: [String] = []
        guard let items = node.items else { throw fault(child(node, of: place), "\(key) must be a list of names, is \(node.kind)") }
        for item in items {
            guard let text = item.text?.written else { throw fault(child(item, of: place), "\(key) must name members, is \(item.kind)") }
            names.append(text)
        }
        return names
    }

    private func object(_ key: String, _ place: SchemaPlace) throws(SchemaFault) -> [Node.Entry] {
        guard let node = place.node[key] else { return [] }
        guard let entries = node.entries else { throw fault(child(node, of: place), "\(key) must be an object, is \(node.kind)") }
        return entries
    }

    private mutating func pattern(_ text: String, _ place: SchemaPlace) throws(SchemaFault) -> Int {
        if let known = patternIndices[text] { return known }
        do throws(PatternFault) {
            patterns.append(try CompiledPattern(Array(text.utf8)))
        } catch {
            throw fault(place, error.message)
        }
        patternIndices[text] = patterns.count - 1
        return patterns.count - 1
    }

    // MARK: - Keywords

    private mutating func readValues(_ rule: inout SchemaRule, _ place: SchemaPlace) throws(SchemaFault) {
        if let node = place.node["type"] {
            rule.types = []
            for item in node.items ?? [node] {
                guard let name = item.text?.value, let type = TypeSet.names.first(where: { $0.name == name })?.type else {
                    throw fault(child(item, of: place), "type must be one of \(Words.either(TypeSet.names.map(\.name)))")
                }
                rule.types.formUnion(type)
            }
        }
        if let node = place.node["enum"] {
            guard let items = node.items else { throw fault(child(node, of: place), "enum must be a list of values, is \(node.kind)") }
            rule.values = store.list(items.map { documents.text(of: $0, in: place.document) })
        }
        if let node = place.node["const"] {
            let only = store.list([documents.text(of: node, in: place.document)])
            if rule.values == nil {
                (rule.values, rule.isConstant) = (only, true)
            } else {
                // Both keywords in one schema: the second one is a schema of its own.
                var constant = SchemaRule()
                (constant.values, constant.isConstant, constant.resource) = (only, true, place.resource)
                rules.append(constant)
                rule.allOf = store.list([rules.count - 1])
                rule.isCombined = true
            }
        }
        rule.minimum = try number("minimum", place).map(store.one)
        rule.maximum = try number("maximum", place).map(store.one)
        rule.exclusiveMinimum = try number("exclusiveMinimum", place).map(store.one)
        rule.exclusiveMaximum = try number("exclusiveMaximum", place).map(store.one)
        if let number = try number("multipleOf", place) {
            guard let divisor = Divisor(number), !number.isNegative else {
                throw fault(child(place.node["multipleOf"]!, of: place), "multipleOf must be above 0 and have at most 18 digits")
            }
            rule.multipleOf = store.one(divisor)
        }
        if rule.exclusiveMinimum == nil, rule.exclusiveMaximum == nil, rule.multipleOf == nil {
            let least = rule.minimum.map { $0.pointee.short }
            let most = rule.maximum.map { $0.pointee.short }
            let isShort = !(least.map { $0 == nil } ?? false) && !(most.map { $0 == nil } ?? false)
            if isShort { rule.shortBounds = ShortBounds(least: (least ?? nil) ?? -.infinity, most: (most ?? nil) ?? .infinity) }
        }
        rule.testsNumbers =
            rule.minimum != nil || rule.maximum != nil || rule.exclusiveMinimum != nil || rule.exclusiveMaximum != nil
            || rule.multipleOf != nil
    }

    private mutating func readStrings(_ rule: inout SchemaRule, _ place: SchemaPlace) throws(SchemaFault) {
        rule.minLength = try count("minLength", place, otherwise: 0)
        rule.maxLength = try count("maxLength", place, otherwise: .max)
        if let node = place.node["pattern"] {
            guard let text = node.text?.written else { throw fault(child(node, of: place), "pattern must be a string, is \(node.kind)") }
            rule.pattern = try pattern(text, child(node, of: place))
        }
        rule.testsStrings = rule.minLength > 0 || rule.maxLength < .max || rule.pattern >= 0
    }

    private mutating func readLists(_ rule: inout SchemaRule, _ place: SchemaPlace) throws(SchemaFault) {
        rule.minItems = try count("minItems", place, otherwise: 0)
        rule.maxItems = try count("maxItems", place, otherwise: .max)
        rule.minContains = try count("minContains", place, otherwise: 1)
        rule.maxContains = try count("maxContains", place, otherwise: .max)
        rule.prefix = try schemas("prefixItems", place)
        rule.items = try schema("items", place)
        rule.contains = try schema("contains", place)
        rule.unevaluatedItems = try schema("unevaluatedItems", place)
        if case .bool(true)? = place.node["uniqueItems"]?.value { rule.isUnique = true }
        rule.testsArrays =
            rule.minItems > 0 || rule.maxItems < .max || !rule.prefix.isEmpty || rule.items >= 0 || rule.contains >= 0 || rule.isUnique
    }

    private mutating func readObjects(_ rule: inout SchemaRule, _ place: SchemaPlace) throws(SchemaFault) {
        rule.minProperties = try count("minProperties", place, otherwise: 0)
        rule.maxProperties = try count("maxProperties", place, otherwise: .max)
        var members: [MemberRule] = []
        for entry in try object("properties", place) {
            let schema = try compile(child(entry.node, of: place))
            members.append(MemberRule(key: store.text(Array(entry.key.name.utf8)), schema: schema))
        }
        if let node = place.node["required"] {
            for name in try Set(names(node, "required", place)).sorted() {
                let key = Array(name.utf8)
                if let index = members.firstIndex(where: { $0.key.bytes.elementsEqual(key) }) {
                    members[index].isRequired = true
                } else {
                    members.append(MemberRule(key: store.text(key), isRequired: true))
                }
            }
        }
        for (index, member) in members.enumerated() where member.isRequired {
            if index < 64 { rule.requiredBits |= 1 << UInt64(index) } else { rule.otherRequired += 1 }
        }
        rule.members = store.list(members)
        rule.keys = KeyTable(members, store: store)
        var patterned: [PatternRule] = []
        for entry in try object("patternProperties", place) {
            let schema = try compile(child(entry.node, of: place))
            patterned.append(PatternRule(pattern: try pattern(entry.key.name, child(entry.node, of: place)), schema: schema))
        }
        rule.patterns = store.list(patterned)
        rule.additional = try schema("additionalProperties", place)
        rule.names = try schema("propertyNames", place)
        rule.unevaluatedProperties = try schema("unevaluatedProperties", place)
        var dependents: [DependentRule] = []
        for entry in try object("dependentRequired", place) {
            let keys = try names(entry.node, "dependentRequired", place).map { store.text(Array($0.utf8)) }
            dependents.append(DependentRule(key: store.text(Array(entry.key.name.utf8)), required: store.list(keys)))
        }
        for entry in try object("dependentSchemas", place) {
            let schema = try compile(child(entry.node, of: place))
            dependents.append(DependentRule(key: store.text(Array(entry.key.name.utf8)), schema: schema))
        }
        rule.dependents = store.list(dependents)
        rule.testsObjects =
            rule.minProperties > 0 || rule.maxProperties < .max || !members.isEmpty || !patterned.isEmpty || rule.additional >= 0
            || rule.names >= 0
        rule.isPlain = !members.isEmpty && rule.names < 0 && patterned.isEmpty
    }

    private mutating func readCombinations(_ rule: inout SchemaRule, _ place: SchemaPlace) throws(SchemaFault) {
        let all = try schemas("allOf", place)
        rule.allOf = rule.allOf.isEmpty ? all : store.list(Array(rule.allOf) + Array(all))
        rule.anyOf = try schemas("anyOf", place)
        rule.oneOf = try schemas("oneOf", place)
        rule.not = try schema("not", place)
        rule.condition = try schema("if", place)
        rule.consequence = try schema("then", place)
        rule.alternative = try schema("else", place)
        var references: [Int] = []
        if let node = place.node["$ref"] { references.append(try reference(node, place).index) }
        if let node = place.node["$dynamicRef"] {
            let (index, name) = try reference(node, place)
            if references.isEmpty {
                if let name { rule.dynamicName = dynamicName(name) }
            } else {
                var other = SchemaRule()
                (other.reference, other.isCombined, other.resource) = (references.removeFirst(), true, place.resource)
                if let name { rule.dynamicName = dynamicName(name) }
                rules.append(other)
                rule.allOf = store.list(Array(rule.allOf) + [rules.count - 1])
            }
            references.append(index)
        }
        rule.reference = references.first ?? -1
        rule.isCombined =
            !rule.allOf.isEmpty || !rule.anyOf.isEmpty || !rule.oneOf.isEmpty || rule.not >= 0 || rule.condition >= 0
            || rule.reference >= 0 || !rule.dependents.isEmpty
    }

    private mutating func reference(_ node: Node, _ place: SchemaPlace) throws(SchemaFault) -> (index: Int, dynamicName: String?) {
        let at = child(node, of: place)
        guard let text = node.text?.written else { throw fault(at, "a reference must be a string, is \(node.kind)") }
        guard let (target, name) = documents.resolve(text, from: place, store: store) else {
            throw fault(at, "the reference \(Words.quoted(text)) leads nowhere: expected one to this document, such as \"#/$defs/name\"")
        }
        return (try compile(target), name)
    }

    // MARK: - Dynamic references

    private mutating func dynamicName(_ name: String) -> Int {
        if let known = dynamicNames[name] { return known }
        dynamicNames[name] = dynamicNames.count
        return dynamicNames.count - 1
    }

    private mutating func listDynamicPlaces(of resource: Int) { if !listed.contains(resource) { unlisted.insert(resource) } }

    /// Compiles the schemas that a dynamic reference can mean, of all resources that were met.
    private mutating func compileDynamicPlaces() throws(SchemaFault) {
        while let resource = unlisted.popFirst() {
            listed.insert(resource)
            for name in documents.resources[resource].dynamicAnchors.sorted() {
                guard let place = documents.resources[resource].anchors[name] else { continue }
                let number = dynamicName(name)
                dynamicPlaces.append(DynamicPlace(name: number, resource: resource, schema: try compile(place)))
            }
        }
    }
}
