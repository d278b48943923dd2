// swift-tools-version: 6.2
import PackageDescription

// Apart from the main package, since it looks inside of a lane in an optimised build. The sources are linked in, not copied.
let inside: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .unsafeFlags(["-enable-testing"]),
]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: inside)
}

let package = Package(
    name: "simulate",
    targets: [
        module("Delivery", ["Spool", "Policy", "Configuration", "Events", "Platform"]),
        module("Spool", ["Policy", "Configuration", "Events", "Database", "Platform", "CCrypto"]),
        module("Ledger", ["Policy", "Events", "Database", "Platform", "CJansson", "CCrypto"]),
        module("Database", ["Platform", "CSQLite", "CChecksum"]),
        module("Policy", ["Signals", "Configuration", "Redaction", "Expressions", "Events", "Platform", "CPlatform", "CCrypto"]),
        module("Configuration", ["Redaction", "Expressions", "Events", "CJansson"]),
        module("Redaction", ["Expressions", "Events"]),
        module("Expressions", ["Events", "Platform", "CPlatform"]),
        module("Events", ["CSIMD"]),
        module("Signals"),
        module("Platform", ["CPlatform"]),
        .target(name: "CSIMD"),
        .target(name: "CChecksum"),
        .target(name: "CPlatform"),
        .systemLibrary(name: "CJansson", pkgConfig: "jansson"),
        .target(name: "CCrypto"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3"),
        module("Seeds", ["Platform"]),
        .executableTarget(
            name: "simulate", dependencies: ["Seeds", "Delivery", "Spool", "Policy", "Configuration", "Platform"], swiftSettings: inside),
        // The steps of a withdrawal are the router's own file, by a link: the rest of the router is threads.
        .executableTarget(
            name: "promise",
            dependencies: ["Seeds", "Delivery", "Ledger", "Spool", "Policy", "Configuration", "Events", "Platform"],
            swiftSettings: inside),
    ])
