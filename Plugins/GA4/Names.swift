// Google's rules for the names of events, parameters and user properties.

import VendorKit

/// The rules of Google for every name.
enum GA4Name {
    /// Appends the letters, digits and underscores of a name, and an underscore for each other character of ASCII. Returns false if there
    /// are others.
    static func append(_ text: Value, to name: inout [UInt8]) -> Bool {
        text.withText { text in
            guard let text, text.allSatisfy({ $0 < 0x80 }) else { return false }
            for byte in text { name.append(isLetter(byte) || byte &- 0x30 < 10 ? byte : UInt8(ascii: "_")) }
            return true
        }
    }

    static func beginsWithLetter(_ name: [UInt8]) -> Bool { name.first.map(isLetter) ?? false }

    static func hasReservedPrefix(_ name: [UInt8]) -> Bool {
        let prefixes: [StaticString] = ["ga_", "google_", "firebase_"]
        return prefixes.contains { $0.withUTF8Buffer { $0.elementsEqual(name.prefix($0.count)) { $0 == ($1 | ($1 == 0x5f ? 0 : 0x20)) } } }
    }

    /// True for letters, digits and underscores.
    static func isPathKey(_ key: [UInt8]) -> Bool { !key.isEmpty && key.allSatisfy { isLetter($0) || $0 &- 0x30 < 10 || $0 == 0x5f } }

    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

    // MARK: - Names of events

    static func isReserved(_ name: [UInt8], isApp: Bool) -> Bool {
        let isListed = name.withUnsafeBufferPointer { reserved.contains($0) || !isApp && reservedForApps.contains($0) }
        return isListed || hasReservedPrefix(name)
    }

    private static let reserved = TextSet([
        "ad_activeview", "ad_click", "ad_exposure", "ad_query", "ad_reward", "adunit_exposure", "app_background", "app_clear_data",
        "app_exception", "app_install", "app_remove", "app_store_refund", "app_store_subscription_cancel",
        "app_store_subscription_convert", "app_store_subscription_renew", "app_update", "app_upgrade", "dynamic_link_app_open",
        "dynamic_link_app_update", "dynamic_link_first_open", "error", "first_open", "first_visit", "notification_dismiss",
        "notification_foreground", "notification_open", "notification_receive", "notification_send", "os_update", "session_start",
        "session_start_with_rollout", "user_engagement",
    ])
    private static let reservedForApps = TextSet(["ad_impression", "in_app_purchase", "screen_view"])
}
