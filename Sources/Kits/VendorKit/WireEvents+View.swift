// The name of a page or a screen as an event: "Viewed NAME Page", as the mappings of many vendors have it.

extension WireEvents {
    /// Writes a member with the name of the event that a page or a screen is. `kind` is "Page" or "Screen".
    public mutating func member(_ key: StaticString, viewOf event: CanonicalEvent, as kind: StaticString) {
        write(key: key)
        put(event.name == nil ? "\"Loaded a " : "\"Viewed ")
        if let name = event.name {
            put(bytes: UnsafeRawBufferPointer(name.body))
            put(" ")
            take(name)
        }
        put(kind)
        put("\"")
    }
}
