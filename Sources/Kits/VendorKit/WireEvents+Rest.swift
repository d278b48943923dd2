// What a vendor has no place of its own for. Whatever of an event has not been written, `rest` writes, so that no member is lost silently.

internal import Events

extension WireEvents {
    /// Writes a member with an object of everything in the event that has not been written or taken, in the event's own structure. It
    /// writes nothing if nothing is left.
    public mutating func rest(_ key: StaticString, of event: CanonicalEvent) {
        guard hasRest(PathTrie.root, event) else { return }
        write(key: key)
        writeRest(PathTrie.root, event)
    }

    /// Writes everything that has not been written of one object, as members of the object that is open.
    public mutating func spliceRest(of object: Value?, in event: CanonicalEvent) {
        guard let object, object.isObject, object.slot != 0, hasRest(object.slot, event) else { return }
        writeRestMembers(object.slot, event)
        take(object)
    }

    /// Calls `use` with one object of everything that has not been written of an object, for formats that are not JSON. It is not called if
    /// nothing is left. The object is valid only during the call.
    public mutating func withRest(of object: Value?, in event: CanonicalEvent, _ use: (inout WireEvents, Value) -> Void) {
        guard let object, object.isObject, object.slot != 0, hasRest(object.slot, event) else { return }
        if isUntouched(object.slot, event) {
            take(object)
            return use(&self, object)
        }
        let (begin, neededComma) = (buffer.count, needsComma)
        writeRest(object.slot, event)
        take(object)
        scratch.removeAll()
        scratch.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer.bytes[begin...]))
        buffer.truncate(to: begin)
        needsComma = neededComma
        // Whoever reads a value may read beyond its end.
        let count = scratch.count
        scratch.reserve(Block.padding)
        (scratch.base + count).update(repeating: UInt8(ascii: "\n"), count: Block.padding)
        use(&self, Value(Bytes(scratch.base), count: count))
    }

    /// True if anything in the event has not been written.
    public func hasRest(of event: CanonicalEvent) -> Bool { hasRest(PathTrie.root, event) }

    /// True if anything of a value that is present has not been written.
    func hasRest(_ slot: Int, _ event: CanonicalEvent) -> Bool {
        if isTaken(slot) { return false }
        let children = shape.children(of: slot)
        guard !children.isEmpty, event.block[Int(event.slots[slot].start)] == UInt8(ascii: "{") else { return true }
        // An empty object is something that the event says, too.
        if event.slots[slot].members == 0 { return true }
        var known: UInt32 = 0
        for child in children where event.slots[Int(child)].isPresent {
            known += 1
            if hasRest(Int(child), event) { return true }
        }
        return event.slots[slot].members > known
    }

    /// True if nothing of a value has been written, so that it can be copied whole.
    private func isUntouched(_ slot: Int, _ event: CanonicalEvent) -> Bool {
        if isTaken(slot) { return false }
        return shape.children(of: slot).allSatisfy { !event.slots[Int($0)].isPresent || isUntouched(Int($0), event) }
    }

    private mutating func writeRest(_ slot: Int, _ event: CanonicalEvent) {
        openRest()
        writeRestMembers(slot, event)
        closeObject()
    }

    private mutating func writeRestMembers(_ slot: Int, _ event: CanonicalEvent) {
        guard let object = event.value(slot) else { return }
        let children = shape.children(of: slot)
        nextMember: for (key, value) in object.members {
            let place = UInt32(truncatingIfNeeded: key.base - event.block)
            for child in children where event.slots[Int(child)].isPresent && event.slots[Int(child)].key == place {
                guard hasRest(Int(child), event) else { continue nextMember }
                if isUntouched(Int(child), event) { break }
                write(key: key)
                writeRest(Int(child), event)
                continue nextMember
            }
            member(key, value)
        }
    }
}
