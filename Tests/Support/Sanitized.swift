import Foundation

/// Whether the tests run under a sanitizer, ten times as slow: what depends on chance is tried fewer times then.
public let isSanitized = ProcessInfo.processInfo.environment["SWITCHYARD_SANITIZER"] != nil
