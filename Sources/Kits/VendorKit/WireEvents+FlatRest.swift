// What a vendor has no place of its own for, as one object without objects in it: for vendors that take only a few levels of objects, and
// would refuse an event for the depth of a member that they do not even know.

internal import Events

extension WireEvents {
    /// Writes a member with an object of everything in the event that has not been written or taken. A member of an object in the event has
    /// its path as its name, such as `context.os.name`; a key with a dot is in brackets in it. Lists stay as they are. It writes nothing if
    /// nothing is left.
    public mutating func flatRest(_ key: StaticString, of event: CanonicalEvent) {
        guard hasRest(of: event) else { return }
        write(key: key)
        openRest()
        var path: [Value] = []
        flatten(event.whole, slot: PathTrie.root, at: &path, of: event)
        closeObject()
    }

    /// Writes everything that has not been written of one object in the same way, as members of the object that is open.
    public mutating func spliceFlatRest(of object: Value?, in event: CanonicalEvent) {
        guard let object, object.isObject, object.slot != 0, hasRest(object.slot, event) else { return }
        var path: [Value] = []
        flatten(object, slot: object.slot, at: &path, of: event)
        take(object)
    }

    /// Writes what is left of an object. `slot` is nil for an object that the reader has not noted.
    private mutating func flatten(_ object: Value, slot: Int?, at path: inout [Value], of event: CanonicalEvent) {
        nextMember: for (key, value) in object.members {
            var own: Int?
            if let slot {
                let place = UInt32(truncatingIfNeeded: key.base - event.block)
                for child in shape.children(of: slot)
                where event.slots[Int(child)].isPresent && event.slots[Int(child)].key == place {
                    guard hasRest(Int(child), event) else { continue nextMember }
                    own = Int(child)
                }
            }
            path.append(key)
            // The depth is bounded, so that an event that is made of brackets cannot use up the stack.
            if value.isObject, path.count < 16, value.members.contains(where: { _ in true }) {
                flatten(value, slot: own, at: &path, of: event)
            } else {
                member(path, value)
            }
            path.removeLast()
        }
    }

    private mutating func member(_ path: [Value], _ value: Value) {
        beginKey()
        for (index, key) in path.enumerated() {
            if index > 0 { put(byte: UInt8(ascii: ".")) }
            let hasDot = path.count > 1 && key.body.contains(UInt8(ascii: "."))
            if hasDot { put(byte: UInt8(ascii: "[")) }
            put(bytes: UnsafeRawBufferPointer(key.body))
            if hasDot { put(byte: UInt8(ascii: "]")) }
        }
        endKey()
        append(value)
    }
}
