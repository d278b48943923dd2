// One reading of one document: the faults that were found so far, and the names of the keys. Its messages never show a value that came from
// outside the file.

public import Document

open class Reading {
    public let source: Source
    private var found: [LocatedFault]
    /// The most faults that are kept: nobody can read more.
    public static let mostFaults = 1000

    /// The index of each key of `keys`, by its name. An invalid key has one too, so that a reference to it is not a second fault.
    public var keys: [String: Int] = [:]

    /// True while a part is read that the router carries out when an event is handed over. Then less is known of the event than on a route.
    public var isAtHandOver = false

    public init(_ source: Source, faults: [LocatedFault] = []) {
        self.source = source
        found = faults
    }

    /// The faults in the order of the text, each once.
    public var faults: [LocatedFault] {
        let ordered = found.enumerated().sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }.map(\.element)
        var faults: [LocatedFault] = []
        for fault in ordered where !(fault.offset == faults.last?.offset && fault.message == faults.last?.message) { faults.append(fault) }
        return faults
    }

    // MARK: - Reporting

    public func fault(at offset: Int, _ message: String) {
        if found.count < Reading.mostFaults { found.append(LocatedFault(offset: offset, message: message)) }
    }

    /// `routes[1].sample: lacks 'rate'`
    public func fault(_ node: Node, at offset: Int? = nil, _ message: String) {
        fault(at: offset ?? node.offset, node.path.isRoot ? message : "\(node.path): \(message)")
    }

    /// `routes[1].sample.rate must be between 0 and 1, is 1.5`
    public func refuse(_ node: Node, _ must: String, hint: String = "") {
        if let text = node.text {
            if text.isBroken { return }
            // A hint would reveal something about a hidden value.
            if text.isTainted { return fault(at: node.offset, "\(subject(node)) must be \(must), \(Reading.hidden(text)) is not") }
        }
        fault(at: node.offset, "\(subject(node)) must be \(must), is \(Reading.shown(node))\(hint)")
    }

    /// Reports a value of the wrong type. If the value is hidden, the message shows only its type.
    public func refuseType(_ node: Node, _ must: String) {
        if node.text?.isTainted == true { return fault(at: node.offset, "\(subject(node)) must be \(must), is a string") }
        refuse(node, must)
    }

    /// `unknown provider 'archiv', did you mean 'archive'?`
    public func unknown(_ what: String, _ node: Node, among choices: [String], otherwise: String) {
        guard let text = node.text else { return }
        if text.isTainted { return fault(node, "\(Reading.hidden(text)) is not a known \(what), \(otherwise)") }
        let hint = Words.nearest(text.value, among: choices).map { "did you mean \(Words.quoted($0))?" } ?? otherwise
        fault(node, "unknown \(what) \(Words.quoted(text.value)), \(hint)")
    }

    private func subject(_ node: Node) -> String { node.path.isRoot ? "the top level" : node.path.description }

    public static func shown(_ node: Node) -> String {
        switch node.value {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): Words.shortened(text, 40)
        case .text(let text): text.isTainted ? hidden(text) : JSONText.quoted(Words.shortened(text.written, 60))
        case .list: "a list"
        case .object: "an object"
        }
    }

    /// Returns the string as messages show a name.
    public static func named(_ node: Node) -> String {
        guard let text = node.text else { return shown(node) }
        return text.isTainted ? hidden(text) : Words.quoted(text.value)
    }

    /// Returns the words for a value that came from outside the file: its placeholder, as the file writes it.
    public static func hidden(_ text: Node.Text) -> String {
        let isAlone = text.written.hasPrefix("${") && text.written.utf8.firstIndex(of: UInt8(ascii: "}")) == text.written.utf8.indices.last
        return "the value of " + (isAlone ? text.written : JSONText.quoted(Words.shortened(text.written, 60)))
    }
}
