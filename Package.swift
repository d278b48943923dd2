// swift-tools-version: 6.2
import PackageDescription

// One set of settings for every Swift target, so that none is laxer than the others.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The compiler imports the modules of regular expressions and of concurrency into every file unless told not to, and the
/// executable would load their libraries. Nothing here uses them, and without them it starts sooner and is smaller.
let lean: [SwiftSetting] =
    strict + [
        .unsafeFlags([
            "-Xfrontend", "-disable-implicit-string-processing-module-import",
            "-Xfrontend", "-disable-implicit-concurrency-module-import",
        ])
    ]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: lean)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

/// An adapter is a folder under Plugins/ and becomes lib<Name>.so beside the executable.
func adapter(_ name: String, _ dependencies: [Target.Dependency] = [], hasCases: Bool = true) -> Target {
    // The cases of the contract lie beside it; see Tests/Contract.
    .target(
        name: name, dependencies: ["PluginKit"] + dependencies, path: "Plugins/\(name)", exclude: hasCases ? ["contract.json"] : [],
        swiftSettings: lean)
}

func adapterProduct(_ name: String) -> Product {
    .library(name: name, type: .dynamic, targets: [name])
}

let package = Package(
    name: "switchyard",
    products: [
        .executable(name: "switchyard", targets: ["switchyard"]),
        adapterProduct("Console"),
        adapterProduct("Exec"),
        adapterProduct("File"),
        adapterProduct("HTTP"),
        adapterProduct("NoOp"),
    ],
    targets: [
        // The flow of the data, from the command down; a module imports only what stands below it.
        .executableTarget(
            name: "switchyard",
            dependencies: ["Router", "PluginHost", "Delivery", "Spool", "Policy", "Configuration", "Events", "Platform"],
            swiftSettings: lean,
            linkerSettings: [.unsafeFlags(["-Xlinker", "-rpath", "-Xlinker", "$ORIGIN/../lib/switchyard"])]),
        module("Router", ["Ingest", "PluginHost", "Delivery", "Spool", "Policy", "Configuration", "Events", "Platform"]),
        module("Listener", ["Ingest", "Configuration", "Events", "Platform", "CMicrohttpd", "CDecoders"]),
        module("Ingest", ["Events", "Platform"]),
        module("PluginHost", ["Delivery", "Policy", "Configuration", "Platform", "CSwitchyardPlugin"]),
        module("Delivery", ["Spool", "Policy", "Configuration", "Events", "Platform"]),
        module("Spool", ["Policy", "Configuration", "Events", "Platform", "CSQLite", "CCrypto"]),
        module("Policy", ["Configuration", "Events", "Platform", "CCrypto"]),
        module("Configuration", ["Events", "CJansson"]),
        module("Events", ["CSIMD"]),
        module("Platform", ["CPlatform"]),

        // What the author of an adapter imports.
        module("PluginKit", ["CSwitchyardPlugin", "CJansson", "Platform"]),

        // C: the plugin ABI, the vector intrinsics, and a module map for each system library.
        .target(name: "CSwitchyardPlugin"),
        .target(name: "CSIMD"),
        .target(name: "CPlatform"),
        // Their libraries are looked up when they are first needed: no program links them.
        .target(name: "CMicrohttpd"),
        .target(name: "CDecoders"),
        .systemLibrary(name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),

        .target(name: "TestSupport", dependencies: ["Spool"], path: "Tests/Support", swiftSettings: strict),
        // A file system under SQLite that fails when it is told to.
        .target(name: "FaultyFiles", dependencies: ["CSQLite"], path: "Tests/FaultyFiles"),
        tests("SpoolTests", ["Spool", "FaultyFiles", "Policy", "Configuration", "Events", "Platform"]),
        tests("EventsTests", ["Events"]),
        tests("ConfigurationTests", ["Configuration"]),
        tests("PolicyTests", ["Policy", "Configuration", "Events"]),
        tests("DeliveryTests", ["Delivery", "Spool", "TestSupport", "Policy", "Configuration", "Events", "Platform"]),
        tests("ListenerTests", ["Listener", "Ingest", "Configuration", "Events", "Platform", "CZlib", "CZstd"]),
        tests("IngestTests", ["Ingest", "Events", "Platform"]),
        // The modules are compiled by the tests, against the header alone.
        tests(
            "PluginHostTests", ["PluginHost", "Delivery", "TestSupport", "Policy", "Configuration", "Events", "Platform"],
            exclude: ["Modules"]),
        // Every adapter defines the one symbol that a module exports; linked together for the tests, the first one stands.
        .testTarget(
            name: "AdapterTests", dependencies: ["Console", "Exec", "File", "NoOp", "PluginKit", "CZlib", "CZstd"], swiftSettings: strict,
            linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "muldefs"])]),
        // A program, so that the author of any adapter can hold a built module against the contract.
        .executableTarget(
            name: "switchyard-contract", dependencies: ["PluginHost", "Delivery", "Policy", "Configuration", "Platform"],
            path: "Tests/Contract",
            exclude: ["bad.c", "scripted.json", "server.py"], swiftSettings: strict),
        tests("HTTPAdapterTests", ["HTTP", "PluginKit", "TestSupport", "CZlib", "CZstd"], exclude: ["tls-server.py"]),
        tests("RouterTests", ["Router", "TestSupport", "Spool", "Ingest", "Delivery", "Policy", "Configuration", "Events", "Platform"]),
        tests("EndToEndTests", ["TestSupport"]),
    ]
        + [
            adapter("Console", ["CPlatform"]),
            adapter("Exec"),
            adapter("File", ["CPlatform", "CZlib", "CZstd"]),
            adapter("HTTP", ["CCurl", "CZlib", "CZstd"]),
            adapter("NoOp", hasCases: false),
        ]
)
