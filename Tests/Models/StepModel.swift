import Editing
import Events

/// Applies the steps of a transform to the slow model, exactly as they are described.
extension Node {
    /// Makes the result of a step the event for the next one. Dropped members are removed permanently.
    func settle() {
        members?.removeAll { $0.isDropped }
        for member in members ?? [] {
            member.isOwn = true
            member.value.settle()
        }
    }

    func apply(_ step: any Step) {
        switch step {
        case let step as KeepStep: keep(step.paths.map(\.keys))
        case is MoveStep, is RenameStep: for move in step.moves { self.move(move.from.keys, move.to.keys) }
        case let step as DefaultStep:
            for entry in step.members {
                guard case .json(let json) = entry.value else { preconditionFailure("the model knows constants only") }
                if let found = find(entry.path.keys), found.value.raw != "null" { continue }
                put(entry.path.keys, ModelParser.parse(json, own: false))
                settle()
            }
        case let step as GeoStep: for path in step.paths { pick(path.keys, step.keep) }
        case let step as LimitStep: for member in step.members { limit(member.path.keys, member.most) }
        default: preconditionFailure("the model does not know this operation; tables and oracles test it")
        }
    }

    private func find(_ path: [String]) -> Member? {
        guard let member = live(path[0]) else { return nil }
        return path.count == 1 ? member : member.value.find(Array(path.dropFirst()))
    }

    /// Keeps only these paths. Returns true if a member stays.
    @discardableResult private func keep(_ paths: [[String]]) -> Bool {
        raw = nil
        var stays: [Member] = []
        for member in members ?? [] {
            let own = paths.filter { $0[0] == member.key }
            if own.isEmpty { continue }
            if own.contains(where: { $0.count == 1 }) {
                stays.append(member)
            } else if member.value.members != nil, member.value.keep(own.map { Array($0.dropFirst()) }) {
                stays.append(member)
            }
        }
        members = stays
        return !stays.isEmpty
    }

    private func move(_ from: [String], _ to: [String]) {
        guard from != to, let source = find(from) else { return }
        if from.dropLast() == to.dropLast(), find(to) == nil {
            touch(from)
            source.key = to.last!
            source.rawKey = quoted(to.last!)
            return
        }
        if !from.starts(with: to) {
            drop(from[...])
            settle()
        }
        put(to, source.value)
    }

    /// Forgets the raw text of all objects on the path, since they have changed.
    private func touch(_ path: [String]) {
        raw = nil
        if path.count > 1 { live(path[0])!.value.touch(Array(path.dropFirst())) }
    }

    private func put(_ path: [String], _ value: Node) {
        raw = nil
        isSomeHash = false
        if members == nil { members = [] }
        let member: Member
        if let found = live(path[0]) {
            member = found
        } else {
            member = Member(rawKey: quoted(path[0]), key: path[0], value: Node(raw: nil, members: []), isOwn: true)
            members!.append(member)
        }
        if path.count == 1 { member.value = value } else { member.value.put(Array(path.dropFirst()), value) }
    }

    private func quoted(_ key: String) -> String {
        "\"\(key.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\""))\""
    }

    private func pick(_ path: [String], _ names: [String]) {
        guard let member = find(path), member.value.raw != "null" else { return }
        guard member.value.members != nil else {
            drop(path[...])
            settle()
            return
        }
        touch(path)
        member.value.raw = nil
        member.value.members!.removeAll { !names.contains($0.key) }
    }

    private func limit(_ path: [String], _ most: Int) {
        guard let member = find(path), let text = member.value.raw, text.first == "\"" else { return }
        let short = shortened(text, most)
        if short != text {
            touch(Array(path.dropLast()) + [path.last!])
            member.value = Node(raw: short)
        }
    }

    /// Returns the first characters of a string as they are written. An escape is one character.
    private func shortened(_ text: String, _ most: Int) -> String {
        var rest = text.unicodeScalars.dropFirst().dropLast()[...]
        var kept = ""
        for _ in 0..<most {
            guard let first = rest.popFirst() else { break }
            kept.unicodeScalars.append(first)
            guard first == "\\" else { continue }
            let escape = rest.popFirst()!
            kept.unicodeScalars.append(escape)
            guard escape == "u" else { continue }
            let digits = String(String.UnicodeScalarView(rest.prefix(4)))
            kept += digits
            rest = rest.dropFirst(4)
            let isHigh = (0xd800..<0xdc00).contains(Int(digits, radix: 16)!)
            let next = String(String.UnicodeScalarView(rest.prefix(6)))
            if isHigh, next.hasPrefix("\\u"), let low = Int(next.dropFirst(2), radix: 16), (0xdc00..<0xe000).contains(low) {
                kept += next
                rest = rest.dropFirst(6)
            }
        }
        return "\"\(kept)\""
    }
}
