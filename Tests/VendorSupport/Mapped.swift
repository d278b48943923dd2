// What a vendor makes of events, without a server: the bodies of the requests, and the events that it refuses.

internal import Foundation
internal import PluginKit
public import VendorKit

public struct Mapped {
    /// The bodies, each with the index of its endpoint.
    public let bodies: [(endpoint: Int, text: String)]
    /// The bodies, for formats that are not text.
    public let bytes: [[UInt8]]
    /// The reason for each event that is refused, by the index of the event.
    public let refused: [Int: String]

    /// Maps the events of one batch. `now` and the arrivals are in nanoseconds since 1970.
    public init<V: Vendor>(
        _ vendor: V.Type, _ settings: String, _ events: [String], arrivals: [Int64]? = nil, now: Int64 = 0
    ) throws {
        let clock = Clock(now: { Instant(nanoseconds: 0) }, wall: { now })
        let mapper = try Mapper<V>(settings: Settings(json: settings), host: Host(log: { _, _ in }, closed: { _ in }), clock: clock)
        let requests = Batch.with(events, arrivals: arrivals) { mapper.requests($0.lines, arrivals: $0.arrivals) }
        guard let requests else { throw SettingsFault("there is no memory for the compression") }
        bytes = (0..<requests.count).map { Array(requests.body($0)) }
        bodies = bytes.enumerated().map { (requests.target(of: $0), String(decoding: $1, as: UTF8.self)) }
        refused = Dictionary(requests.refused.map { ($0.event, $0.reason) }) { first, _ in first }
    }

    /// The first body, or a text that is no body.
    public var first: String { bodies.first?.text ?? "no body" }

    /// The bodies as trees of Foundation's types. It throws for a body that is not JSON.
    public var json: [Any] {
        get throws {
            try bodies.map { body in
                guard let tree = try? JSONSerialization.jsonObject(with: Data(body.text.utf8), options: .fragmentsAllowed) else {
                    throw SettingsFault("a body is not JSON: \(body.text)")
                }
                return tree
            }
        }
    }
}
