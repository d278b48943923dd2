// The documents of schemas, and the schema resources in them by their addresses. It resolves references: by address, by anchor, and by JSON
// Pointer. It never reads a file or the network; the metaschema of the draft 2020-12 is a part of the program.

internal import Document
internal import Events

/// A schema in a document.
struct SchemaPlace {
    struct Identity: Hashable {
        var document: Int
        var range: Range<Int>
    }

    var node: Node
    var document: Int
    /// The index of the resource that the schema is a part of.
    var resource: Int
    var identity: Identity { Identity(document: document, range: node.range) }
}

/// A schema with an address of its own, or the root of a document.
struct SchemaResource {
    var root: SchemaPlace
    var address: Address
    var anchors: [String: SchemaPlace] = [:]
    /// The anchors that `$dynamicAnchor` gives.
    var dynamicAnchors: Set<String> = []
}

struct SchemaDocuments {
    private let resolver: SchemaCompiler.Resolver
    /// The texts of the documents, with readable bytes after them. The values of `enum` stay there.
    private(set) var texts: [ByteRun] = []
    private var sources: [Source] = []
    private(set) var resources: [SchemaResource] = []
    private var byAddress: [String: Int] = [:]
    /// The document whose offsets faults have.
    private var isOwn: [Bool] = []

    init(_ resolver: @escaping SchemaCompiler.Resolver) { self.resolver = resolver }

    /// Adds a schema of the configuration. It has no address, unless it states one.
    mutating func add(_ node: Node, _ source: Source, store: Store) -> SchemaPlace {
        let document = addText(source, store: store, isOwn: true)
        return register(node, document: document, address: Address("schema:/\(resources.count)"))
    }

    private mutating func addText(_ source: Source, store: Store, isOwn: Bool) -> Int {
        if isOwn, let last = sources.lastIndex(where: { $0.bytes.count == source.bytes.count }), sources[last].bytes == source.bytes {
            return last
        }
        sources.append(source)
        texts.append(store.text(source.bytes))
        self.isOwn.append(isOwn)
        return texts.count - 1
    }

    /// Returns the offset of a fault at the node: that of the node if its document is one of the configuration.
    func offset(of place: SchemaPlace) -> Int? { isOwn[place.document] ? place.node.offset : nil }

    func text(of node: Node, in document: Int) -> ByteRun {
        ByteRun(base: texts[document].base + node.range.lowerBound, count: node.range.count)
    }

    /// The most bytes of a schema that is compared with others.
    private static let longestShared = 1 << 14

    /// Returns the text of a schema that means the same wherever it stands: no keyword in it refers to another place or names one. Returns
    /// nil for another schema, for one that may be another, and for a long one.
    func sharedText(of place: SchemaPlace) -> [UInt8]? {
        guard place.node.range.count <= SchemaDocuments.longestShared else { return nil }
        let text = Array(text(of: place.node, in: place.document).bytes)
        // Such a keyword begins with a dollar sign, which may be written as an escape.
        for (byte, next) in zip(text, text.dropFirst()) {
            if byte == UInt8(ascii: "\""), next == UInt8(ascii: "$") { return nil }
            if byte == UInt8(ascii: "\\"), next == UInt8(ascii: "u") { return nil }
        }
        return text
    }

    private mutating func register(_ node: Node, document: Int, address: Address) -> SchemaPlace {
        let index = resources.count
        var address = address
        if let id = node["$id"]?.text?.value { address = address.resolving(id).withoutFragment }
        let place = SchemaPlace(node: node, document: document, resource: index)
        resources.append(SchemaResource(root: place, address: address))
        if byAddress[address.text] == nil { byAddress[address.text] = index }
        walk(place, isRoot: true)
        return place
    }

    /// Finds the resources and anchors in a schema.
    private mutating func walk(_ place: SchemaPlace, isRoot: Bool = false) {
        guard let entries = place.node.entries else { return }
        if !isRoot, place.node["$id"]?.text != nil {
            _ = register(place.node, document: place.document, address: resources[place.resource].address)
            return
        }
        for entry in entries {
            switch entry.key.name {
            case "$anchor", "$dynamicAnchor":
                guard let name = entry.node.text?.value else { continue }
                if resources[place.resource].anchors[name] == nil { resources[place.resource].anchors[name] = place }
                if entry.key.name == "$dynamicAnchor" { resources[place.resource].dynamicAnchors.insert(name) }
            default: break
            }
            for node in SchemaDocuments.subschemas(entry) {
                walk(SchemaPlace(node: node, document: place.document, resource: place.resource))
            }
        }
    }

    /// Returns the schemas that a keyword has as its value or in it.
    static func subschemas(_ entry: Node.Entry) -> [Node] {
        switch entry.key.name {
        case "additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else", "unevaluatedItems",
            "unevaluatedProperties", "contentSchema":
            [entry.node]
        case "allOf", "anyOf", "oneOf", "prefixItems": entry.node.items ?? []
        case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions": entry.node.entries?.map(\.node) ?? []
        default: []
        }
    }

    /// Returns the resource in which a subschema lies that states its own address.
    func resource(of node: Node, in parent: SchemaPlace) -> Int {
        guard node["$id"]?.text != nil else { return parent.resource }
        let index = resources.firstIndex { $0.root.document == parent.document && $0.root.node.range == node.range }
        return index ?? parent.resource
    }

    // MARK: - References

    /// Returns the schema that a reference means, and the name of its anchor if that is dynamic. Returns nil if there is none.
    mutating func resolve(_ reference: String, from place: SchemaPlace, store: Store) -> (place: SchemaPlace, dynamicName: String?)? {
        let whole = resources[place.resource].address.resolving(reference)
        guard let index = resource(at: whole.withoutFragment.text, store: store) else { return nil }
        guard let fragment = whole.fragment.map(Address.decoded), !fragment.isEmpty else { return (resources[index].root, nil) }
        if fragment.utf8.first == UInt8(ascii: "/") { return follow(fragment, from: resources[index].root).map { ($0, nil) } }
        guard let found = resources[index].anchors[fragment] else { return nil }
        return (found, resources[index].dynamicAnchors.contains(fragment) ? fragment : nil)
    }

    private mutating func resource(at address: String, store: Store) -> Int? {
        if let known = byAddress[address] { return known }
        guard let bytes = Metaschema.text(address) ?? resolver(address) else { return nil }
        let source = Source(bytes)
        guard let root = try? Outline.read(source, resolving: nil).root else { return nil }
        let place = register(root, document: addText(source, store: store, isOwn: false), address: Address(address))
        // The document may state another address than the one at which it was found.
        byAddress[address] = place.resource
        return place.resource
    }

    private func follow(_ pointer: String, from root: SchemaPlace) -> SchemaPlace? {
        var place = root
        for token in pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            let key = SchemaDocuments.unescaped(String(token))
            switch place.node.value {
            case .object:
                guard let next = place.node[key] else { return nil }
                place.node = next
            case .list(let items):
                guard let index = Int(key), items.indices.contains(index) else { return nil }
                place.node = items[index]
            default: return nil
            }
            place.resource = resource(of: place.node, in: place)
        }
        return place
    }

    private static func unescaped(_ token: String) -> String {
        var text = ""
        var isAfterTilde = false
        for character in token.unicodeScalars {
            if isAfterTilde {
                text += character == "1" ? "/" : "~"
                isAfterTilde = false
            } else if character == "~" {
                isAfterTilde = true
            } else {
                text.unicodeScalars.append(character)
            }
        }
        return text
    }
}
