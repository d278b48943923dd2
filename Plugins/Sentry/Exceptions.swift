// The error that an event tells of, in the forms that clients have for it, and as Sentry's list of exceptions. Of several forms the first one
// counts, and what the others hold is left to `extra`.

internal import VendorKit

struct Exceptions: Sendable {
    /// An error as an object, with the names that clients have for its parts.
    private struct Fields: Sendable {
        let whole: Member
        let type: [Member]
        let value: [Member]
        let values, stacktrace, module, mechanism: Member

        init(_ path: String, _ setup: inout Setup) {
            func member(_ name: String) -> Member { setup.member("\(path).\(name)") }
            whole = setup.member(path)
            type = [member("type"), member("name"), member("class")]
            value = [member("value"), member("message")]
            (values, stacktrace, module, mechanism) = (member("values"), member("stacktrace"), member("module"), member("mechanism"))
        }
    }

    private let objects: [Fields]
    private let list: Member
    private let single: (message: [Member], type: [Member], stacktrace: Member)

    init(_ setup: inout Setup) {
        func property(_ name: String) -> Member { setup.member("properties.\(name)") }
        objects = [Fields("properties.exception", &setup), Fields("properties.error", &setup)]
        list = property("$exception_list")
        single = (
            [property("error_message"), property("exception_message")],
            [property("error_type"), property("error_name"), property("exception_type")], property("stacktrace")
        )
    }

    /// True if the event has an error that Sentry can show.
    func isPresent(in event: CanonicalEvent) -> Bool {
        Exceptions.isList(event[list]) || event.text(of: single.message) != nil
            || objects.contains { fields in
                guard let whole = event[fields.whole] else { return false }
                return whole.isText && whole.count > 2 || Exceptions.isList(whole) || Exceptions.isList(event[fields.values])
                    || event.text(of: fields.type + fields.value) != nil
            }
    }

    /// The messages of errors that are no lists.
    func messages(of event: CanonicalEvent) -> [Value] {
        objects.compactMap { fields in event[fields.whole].flatMap { $0.isText ? $0 : event.text(of: fields.value) } }
            + [event.text(of: single.message)].compactMap { $0 }
    }

    /// Writes the first form of an error that the event has.
    func write(_ event: CanonicalEvent, to wire: inout WireEvents) {
        wire.openObject("exception")
        defer { wire.closeObject() }
        for fields in objects {
            guard let whole = event[fields.whole] else { continue }
            for values in [whole, event[fields.values]] {
                if let values, Exceptions.isList(values) { return wire.member("values", values) }
            }
            let value = whole.isText && whole.count > 2 ? whole : event.text(of: fields.value)
            let type = event.text(of: fields.type)
            guard type != nil || value != nil else { continue }
            let stacktrace = event[fields.stacktrace] ?? event[single.stacktrace]
            write(type: type ?? event.text(of: single.type), value, stacktrace, to: &wire) { wire in
                wire.member("module", event.text(of: [fields.module]))
                if let mechanism = event[fields.mechanism], mechanism.isObject { wire.member("mechanism", mechanism) }
            }
            return
        }
        if let values = event[list], Exceptions.isList(values) { return wire.member("values", values) }
        write(type: event.text(of: single.type), event.text(of: single.message), event[single.stacktrace], to: &wire) { _ in }
    }

    private func write(
        type: Value?, _ value: Value?, _ stacktrace: Value?, to wire: inout WireEvents, _ more: (inout WireEvents) -> Void
    ) {
        wire.openList("values")
        wire.openObject()
        wire.member("type", type)
        wire.member("value", value)
        if let stacktrace, stacktrace["frames"]?.isList ?? false { wire.member("stacktrace", stacktrace) }
        more(&wire)
        wire.closeObject()
        wire.closeList()
    }

    /// True for a list in Sentry's own form. Sentry drops an exception without a type and a value.
    private static func isList(_ value: Value?) -> Bool {
        guard let value, value.isList else { return false }
        var count = 0
        for element in value.elements {
            guard element["type"]?.isText ?? false || element["value"]?.isText ?? false else { return false }
            count += 1
        }
        return count > 0
    }
}
