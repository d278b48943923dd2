// One case of the specification: its expression, and the comparison of the result with the expected one.

import Expressions

struct Case {
    var name: String
    var fields: [Field]

    enum Outcome {
        case passed
        case failed(String)
        /// The case needs protocol-buffer messages or enums, which are not supported.
        case needsProtocolBuffers
    }

    var expression: String { fields.string("expr") }

    /// True if any part of the case is a message or an enum.
    var needsProtocolBuffers: Bool {
        if Case.mentions(expression) { return true }
        return Case.holdsMessage(fields)
    }

    private static func mentions(_ expression: String) -> Bool {
        var rest = Substring(expression)
        for name in ["google.protobuf.Timestamp", "google.protobuf.Duration"] {
            while let range = rest.range(of: name), !rest[range.upperBound...].drop(while: { $0 == " " }).hasPrefix("{") {
                rest = rest[..<range.lowerBound] + rest[range.upperBound...]
            }
        }
        return ["TestAllTypes", "google.protobuf.", "proto2.", "proto3."].contains { rest.range(of: $0) != nil }
    }

    private static func holdsMessage(_ fields: [Field]) -> Bool {
        fields.contains { field in
            switch field.name {
            case "object_value":
                return !(field.value.message ?? []).allSatisfy { $0.name.hasSuffix(".Timestamp]") || $0.name.hasSuffix(".Duration]") }
            case "message_type", "enum_value", "wrapper": return true
            default: return field.value.message.map(holdsMessage) ?? false
            }
        }
    }

    func run() -> Outcome {
        if needsProtocolBuffers { return .needsProtocolBuffers }
        var variables: [String: Type] = [:]
        var functions: [String: [Environment.Declaration]] = [:]
        for declaration in fields.messages("type_env") {
            let name = declaration.string("name")
            if let ident = declaration.message("ident") { variables[name] = Type(ident.message("type") ?? []) }
            for overload in declaration.message("function")?.messages("overloads") ?? [] {
                functions[name, default: []].append(
                    Environment.Declaration(
                        parameters: overload.messages("params").map(Type.init), result: Type(overload.message("result_type") ?? [])))
            }
        }
        var bindings: [String: Value] = [:]
        for binding in fields.messages("bindings") {
            let name = binding.string("key")
            bindings[name] = binding.message("value")?.message("value").flatMap(Value.init)
            if variables[name] == nil { variables[name] = .dyn }
        }
        let isChecked = fields.word("disable_check") != "true"
        let environment = Environment(
            .declared(variables), container: fields.string("container"), functions: functions, isChecked: isChecked)
        let compiled: Expression
        do throws(ExpressionFault) {
            compiled = try Expression(expression, in: environment)
        } catch {
            return fields.has("eval_error") ? .passed : .failed("\(error.offset): \(error)")
        }
        if let typed = fields.message("typed_result"), let wanted = typed.message("deduced_type").map(Type.init) {
            guard compiled.type == wanted else { return .failed("is of type \(compiled.type), not \(wanted)") }
            if fields.word("check_only") == "true" { return .passed }
        }
        switch compiled.value(of: bindings) {
        case .failure(let fault): return fields.has("eval_error") ? .passed : .failed("\(fault)")
        case .success(let value):
            if fields.has("eval_error") { return .failed("gives \(value.json ?? "?"), not an error") }
            let wanted = fields.message("value") ?? fields.message("typed_result")?.message("result")
            // A case without a value expects true.
            let expected = wanted == nil ? Value.bool(true) : wanted.flatMap(Value.init)
            guard let expected else { return .failed("the case's value cannot be read") }
            return value.isSame(as: expected) ? .passed : .failed("gives \(value.json ?? "?"), not \(expected.json ?? "?")")
        }
    }
}

extension Substring {
    fileprivate func range(of part: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(part) { return start..<index(start, offsetBy: part.count) }
            start = index(after: start)
        }
        return nil
    }
}

extension Type {
    init(_ fields: [Field]) {
        guard let field = fields.first else {
            self = .dyn
            return
        }
        let message = field.value.message ?? []
        switch field.name {
        case "primitive":
            switch field.value.word {
            case "BOOL": self = .bool
            case "INT64": self = .int
            case "UINT64": self = .uint
            case "DOUBLE": self = .double
            case "STRING": self = .string
            default: self = .bytes
            }
        case "null": self = .null
        case "well_known": self = field.value.word == "TIMESTAMP" ? .timestamp : field.value.word == "DURATION" ? .duration : .dyn
        case "list_type": self = .list(Type(message.message("elem_type") ?? []))
        case "map_type": self = .map(Type(message.message("key_type") ?? []), Type(message.message("value_type") ?? []))
        case "type": self = .type(Type(message))
        case "type_param": self = .parameter(String(decoding: field.value.text ?? [], as: UTF8.self))
        case "abstract_type": self = .opaque(message.string("name"), message.messages("parameter_types").map(Type.init))
        default: self = .dyn
        }
    }
}

extension Value {
    init?(_ fields: [Field]) {
        guard let field = fields.first else { return nil }
        let word = field.value.word ?? ""
        let message = field.value.message ?? []
        switch field.name {
        case "null_value": self = .null
        case "bool_value": self = .bool(word == "true")
        case "int64_value":
            guard let value = Int64(word) else { return nil }
            self = .int(value)
        case "uint64_value":
            guard let value = UInt64(word) else { return nil }
            self = .uint(value)
        case "double_value":
            switch word {
            case "inf", "Infinity", "infinity": self = .double(.infinity)
            case "-inf", "-Infinity", "-infinity": self = .double(-.infinity)
            default:
                guard let value = Double(word) else { return nil }
                self = .double(value)
            }
        case "string_value": self = .string(TextValue(field.value.text ?? []))
        case "bytes_value": self = .bytes(field.value.text ?? [])
        case "type_value": self = .type(String(decoding: field.value.text ?? [], as: UTF8.self))
        case "list_value": self = .list(.values(message.messages("values").compactMap { Value($0) }))
        case "map_value":
            var entries: [MapEntry] = []
            for entry in message.messages("entries") {
                guard let key = Value(entry.message("key") ?? []), let value = Value(entry.message("value") ?? []) else { return nil }
                entries.append(MapEntry(key: key, value: value))
            }
            self = .map(.entries(entries))
        case "object_value":
            guard let time = message.first, let parts = time.value.message else { return nil }
            let seconds = Int64(parts.word("seconds") ?? "0") ?? 0
            let nanoseconds = Int64(parts.word("nanos") ?? "0") ?? 0
            if time.name.hasSuffix(".Duration]") {
                self = .duration(seconds * 1_000_000_000 + nanoseconds)
            } else {
                guard let time = Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds)) else { return nil }
                self = .timestamp(time)
            }
        default: return nil
        }
    }

    /// Returns true if both values and their types are equal. NaN equals NaN here.
    func isSame(as other: Value) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.uint(let a), .uint(let b)): a == b
        case (.double(let a), .double(let b)): a == b || a.isNaN && b.isNaN
        case (.string(let a), .string(let b)): a == b
        case (.bytes(let a), .bytes(let b)): a == b
        case (.timestamp(let a), .timestamp(let b)): a == b
        case (.duration(let a), .duration(let b)): a == b
        case (.type(let a), .type(let b)): a == b
        case (.list(.values(let a)), .list(.values(let b))): a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
        case (.map(.entries(let a)), .map(.entries(let b))):
            a.count == b.count
                && a.allSatisfy { entry in b.contains { $0.key.isSame(as: entry.key) && $0.value.isSame(as: entry.value) } }
        default: false
        }
    }
}
