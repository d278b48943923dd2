// swift-tools-version: 6.2
import PackageDescription

// Apart from the main package, so that only fuzzing needs simdjson. The router's sources are linked in, not copied.
// What is fuzzed is seldom public: the tests' way in is opened in a release build too.
func module(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, exclude: exclude,
        swiftSettings: [
            .swiftLanguageMode(.v6), .enableUpcomingFeature("InternalImportsByDefault"), .unsafeFlags(["-enable-testing"]),
        ])
}

let package = Package(
    name: "fuzz",
    products: [
        // Loaded by name when a mask is compiled.
        .library(name: "switchyard-patterns", type: .dynamic, targets: ["CRE2"])
    ],
    targets: [
        .target(name: "CRE2", linkerSettings: [.linkedLibrary("re2")]),
        .target(name: "CSIMD"),
        .target(name: "CChecksum"),
        .target(name: "CPlatform"),
        .target(name: "CExit"),
        .target(name: "CSwitchyardPlugin"),
        .systemLibrary(name: "CJansson", pkgConfig: "jansson"),
        .target(name: "CCrypto"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3"),
        module("Events", ["CSIMD"]),
        module("Signals"),
        module("Dialects", ["Events"]),
        module("Platform", ["CPlatform"]),
        module("Expressions", ["Events", "Platform", "CPlatform"]),
        module("Redaction", ["Expressions", "Events"]),
        module("Configuration", ["Redaction", "Expressions", "Events", "CJansson"]),
        module("Policy", ["Signals", "Configuration", "Redaction", "Expressions", "Events", "Platform", "CPlatform", "CCrypto"]),
        module("Spool", ["Policy", "Configuration", "Events", "Database", "Platform", "CCrypto"]),
        module("Database", ["Platform", "CSQLite", "CChecksum"]),
        module("Delivery", ["Spool", "Policy", "Configuration", "Events", "Platform"]),
        module("PluginHost", ["Delivery", "Configuration", "Policy", "Platform", "CPlatform", "CExit", "CSwitchyardPlugin"]),
        module("PluginKit", ["CSwitchyardPlugin", "CJansson", "Events", "Platform"]),
        .target(name: "CMicrohttpd"),
        .target(name: "CDecoders"),
        module("Ingest", ["Configuration", "Events", "Platform", "CPlatform"]),
        module("Listener", ["Ingest", "Configuration", "Dialects", "Events", "Platform", "CMicrohttpd", "CDecoders"]),
        module("Exec", ["PluginKit"], exclude: ["contract.json"]),
        .target(name: "COracle", linkerSettings: [.linkedLibrary("simdjson")]),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "Events", "Platform", "Dialects", "Configuration", "Ingest", "Listener", "Delivery", "PluginHost", "Exec", "PluginKit",
                "Redaction",
                "Signals", "Expressions", "Policy", "CCrypto", "COracle",
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]),
        .executableTarget(name: "fuzz-expressions", dependencies: ["Expressions", "Events"], swiftSettings: [.swiftLanguageMode(.v6)]),
    ],
    cxxLanguageStandard: .cxx17
)
