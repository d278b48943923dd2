// Reads the members of a line of NDJSON.

internal import CJansson

enum JSONLine {
    static func members(_ line: UnsafeRawBufferPointer) throws(LineFault) -> LineMembers {
        guard let object = json_loadb(line.baseAddress, line.count, Int(JSON_REJECT_DUPLICATES), nil) else {
            throw LineFault("is not JSON, expected an object on one line")
        }
        defer { json_decref(object) }
        guard object.pointee.type == JSON_OBJECT else { throw LineFault("is not an object") }
        var members = LineMembers()
        var at = json_object_iter(object)
        while let entry = at {
            let key = String(cString: json_object_iter_key(entry))
            if let value = json_object_iter_value(entry), value.pointee.type != JSON_NULL {
                guard let member = LedgerLine.Member(rawValue: key == "purposes" ? "granted" : key) else {
                    throw LineFault("has an unknown member, expected some of \(LedgerLine.Member.all)")
                }
                try put(value, in: member, &members)
            }
            at = json_object_iter_next(object, entry)
        }
        return members
    }

    private static func put(
        _ value: UnsafeMutablePointer<json_t>, in member: LedgerLine.Member, _ members: inout LineMembers
    ) throws(LineFault) {
        switch member {
        case .granted, .denied:
            guard let list = strings(value) else { throw LineFault("\(member.rawValue) must be a list of strings") }
            guard (member == .granted ? members.granted : members.denied) == nil else {
                throw LineFault("has both purposes and granted, expected one of them")
            }
            if member == .granted { members.granted = list } else { members.denied = list }
        case .withdrawn:
            guard value.pointee.type == JSON_TRUE || value.pointee.type == JSON_FALSE else {
                throw LineFault("withdrawn must be true or false")
            }
            members.isWithdrawn = value.pointee.type == JSON_TRUE
        case .person where value.pointee.type == JSON_INTEGER: members.texts[member] = String(json_integer_value(value))
        default:
            guard let text = string(value) else { throw LineFault("\(member.rawValue) must be a string") }
            members.texts[member] = text
        }
    }
}
