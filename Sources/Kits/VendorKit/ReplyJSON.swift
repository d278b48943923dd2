// Reads an answer as JSON. An answer is foreign, so it is validated completely before any part of it is read.

public import HTTPKit

extension Reply {
    /// Calls `use` with the body as one value of JSON, or with nil if it is none or was cut. The value is valid only during the call.
    public func withJSON<R>(_ use: (Value?) -> R) -> R {
        withValidJSON { json in use(json.flatMap { json in json.baseAddress.map { Value($0, count: json.count) } }) }
    }
}
