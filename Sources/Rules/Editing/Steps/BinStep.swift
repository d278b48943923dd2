// `bin`: replaces a number by the label of the range that contains it. A string that contains only a number counts as a number. Any other
// value is dropped, because it would be delivered with more detail than intended.

internal import Document
public import Events
internal import FormReading
internal import Redaction

public struct BinStep: Step {
    /// The bounds of each member rise, and are written as in the file.
    public var members: [(path: Path, bounds: [String])]

    public init(_ members: [(path: Path, bounds: [String])]) { self.members = members }

    static let declaration = StepDeclaration(
        "bin", "Replaces a number by the label of the range that contains it.",
        example: .init(
            #"{"properties.price": [0, 100, 500]}"#, event: #"{"properties":{"price":149.9}}"#,
            result: #"{"properties":{"price":"101-500"}}"#),
        samples: [#"{"$path":[0,100,500],"$path":[0.5,1.5]}"#, #"{"$path":[7]}"#],
        form: Forms.table("paths with bounds", by: Forms.pathKey, of: bounds).then { table, _, _ in
            BinStep(table.map { (path: $0.key, bounds: $0.value) })
        })

    private static let bounds = Form<[String]>(#"{"type":"array","items":{"type":"number"},"minItems":1,"maxItems":1000}"#) {
        node, reading in
        guard let items = node.items else {
            reading.refuseType(node, "a list of rising numbers")
            return nil
        }
        guard reading.accept(node, count: items.count, in: 1...1000, of: "rising numbers", as: "a list") else { return nil }
        var texts: [String] = []
        for item in items {
            guard case .number(let text) = item.value, let number = Double(text), number.isFinite else {
                reading.refuseType(item, "a number")
                return nil
            }
            if let last = texts.last, Double(last)! >= number {
                reading.refuse(item, "greater than \(last), the number before it")
                return nil
            }
            texts.append(text)
        }
        return texts
    }

    public var paths: [Path] { members.map(\.path) }

    public func summary(_ shown: (String) -> String) -> String {
        members.map { "bin \(shown($0.path.description)) by \($0.bounds.joined(separator: ", "))" }.joined(separator: ", ")
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        members.map {
            MemberEffect(
                .changed, [$0.path], "coarser: one of \($0.bounds.count + 1) ranges, by \($0.bounds.joined(separator: ", "))", hides: true)
        }
    }

    public func code(_ resources: StepResources) -> StepCode {
        .stages(members.flatMap { member in ChangeStage.rules([member.path]) { BinChange(member.bounds) } })
    }
}

final class BinChange: Changing {
    private let bounds: [Double]
    /// The label for each number of bounds that a value has passed.
    private let labels: [[UInt8]]

    /// The bounds must rise. If all bounds are whole numbers, the label of each later range begins one above the preceding bound.
    /// Otherwise the labels contain the bounds as they are.
    init(_ texts: [String]) {
        let bounds = texts.map { Double($0)! }
        self.bounds = bounds
        let isWhole = bounds.allSatisfy { $0 == $0.rounded() && abs($0) < 1e15 }
        func low(_ index: Int) -> String { isWhole && index > 0 ? "\(Int64(bounds[index]) + 1)" : texts[index] }
        var labels = ["<\(texts[0])"]
        for index in texts.indices.dropLast() { labels.append("\(low(index))-\(texts[index + 1])") }
        labels.append("\(texts[texts.count - 1])+")
        self.labels = labels.map { Array("\"\($0)\"".utf8) }
    }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard let number = numberIn(value) else { return .drop }
        // The first range contains both its bounds. Every other range contains only its upper bound.
        var passed = number < bounds[0] ? 0 : 1
        if passed > 0 { while passed < bounds.count, number > bounds[passed] { passed += 1 } }
        labels[passed].withUnsafeBufferPointer { out.put($0.baseAddress!, $0.count) }
        return .put
    }
}
