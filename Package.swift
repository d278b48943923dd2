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
        // Loaded by name when an expression uses `matches`: nothing else needs libre2 and the library of C++.
        .library(name: "switchyard-patterns", type: .dynamic, targets: ["CRE2"]),
    ],
    targets: [
        // The flow of the data, from the command down; a module imports only what stands below it.
        .executableTarget(
            name: "switchyard",
            dependencies: [
                "Router", "Listener", "Sending", "Control", "Ingest", "PluginHost", "Delivery", "Ledger", "Spool", "Policy",
                "Configuration", "Expressions", "Database", "Events", "Platform", "CPlatform",
            ],
            swiftSettings: lean,
            linkerSettings: [.unsafeFlags(["-Xlinker", "-rpath", "-Xlinker", "$ORIGIN/../lib/switchyard"])]),
        module(
            "Router",
            ["Ingest", "PluginHost", "Delivery", "Ledger", "Spool", "Policy", "Configuration", "Expressions", "Events", "Platform"]),
        module("Control", ["Platform", "CPlatform"]),
        module("Sending", ["Platform", "CPlatform", "CJansson", "CCurlLoaded"]),
        module("Listener", ["Ingest", "Configuration", "Dialects", "Events", "Platform", "CMicrohttpd", "CDecoders"]),
        module("Ingest", ["Configuration", "Events", "Platform", "CPlatform"]),
        module("PluginHost", ["Delivery", "Policy", "Configuration", "Platform", "CPlatform", "CExit", "CSwitchyardPlugin"]),
        module("Delivery", ["Spool", "Policy", "Configuration", "Events", "Platform"]),
        module("Spool", ["Policy", "Configuration", "Events", "Database", "Platform", "CCrypto"]),
        // Who consented to what, on disk.
        module("Ledger", ["Policy", "Events", "Database", "Platform", "CJansson", "CCrypto"]),
        module("Policy", ["Signals", "Configuration", "Redaction", "Expressions", "Events", "Platform", "CPlatform", "CCrypto"]),
        module("Configuration", ["Redaction", "Expressions", "Events", "CJansson"]),
        // Finds and masks in the strings of an event.
        module("Redaction", ["Expressions", "Events"]),
        module("Expressions", ["Events", "Platform", "CPlatform"]),
        module("Events", ["CSIMD"]),
        // Consent as others write it.
        module("Signals"),
        // Request bodies of vendors' client libraries to lines of events.
        module("Dialects", ["Events"]),
        module("Database", ["Platform", "CSQLite", "CChecksum"]),
        module("Platform", ["CPlatform"]),

        // What the author of an adapter imports.
        module("PluginKit", ["CSwitchyardPlugin", "CJansson", "Events", "Platform"]),

        // C: the plugin ABI, the vector intrinsics, and a module map for each system library.
        .target(name: "CSwitchyardPlugin"),
        .target(name: "CSIMD"),
        .target(name: "CChecksum"),
        .target(name: "CPlatform"),
        // What exit is in the router's program; no module may link it.
        .target(name: "CExit"),
        .target(name: "CRE2", linkerSettings: [.linkedLibrary("re2")]),
        // Their libraries are looked up when they are first needed: no program links them.
        .target(name: "CMicrohttpd"),
        .target(name: "CDecoders"),
        .target(name: "CCurlLoaded", dependencies: ["CCrypto"]),
        .systemLibrary(name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
        // libcrypto (libssl-dev), loaded when it is first needed.
        .target(name: "CCrypto"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),

        .target(name: "TestSupport", dependencies: ["FaultyFiles", "Spool", "Platform"], path: "Tests/Support", swiftSettings: strict),
        // A file system under SQLite that fails when it is told to.
        .target(name: "FaultyFiles", dependencies: ["CSQLite"], path: "Tests/FaultyFiles"),
        tests("SpoolTests", ["Spool", "TestSupport", "Policy", "Configuration", "Events", "Database", "Platform"]),
        tests("DatabaseTests", ["Database", "Platform", "CChecksum"]),
        tests("LedgerTests", ["Ledger", "TestSupport", "Policy", "Database", "Platform"]),
        tests("EventsTests", ["Events"]),
        tests("SignalsTests", ["Signals"]),
        tests("DialectsTests", ["Dialects", "Events"], exclude: ["Samples"]),
        tests("ExpressionsTests", ["Expressions", "Events"]),
        tests("RedactionTests", ["Redaction", "TestSupport", "Expressions", "Events"]),
        tests("ConfigurationTests", ["Configuration", "TestSupport"]),
        tests("PolicyTests", ["Policy", "TestSupport", "Configuration", "Redaction", "Expressions", "Events"]),
        tests("DeliveryTests", ["Delivery", "Spool", "Database", "TestSupport", "Policy", "Configuration", "Events", "Platform"]),
        tests("ListenerTests", ["Listener", "Ingest", "Configuration", "Dialects", "Events", "Platform", "CZlib", "CZstd"]),
        tests("IngestTests", ["Ingest", "Configuration", "Events", "Platform"]),
        tests("PlatformTests", ["Platform", "TestSupport"]),
        tests("ControlTests", ["Control", "Platform"]),
        tests("SendingTests", ["Sending", "TestSupport", "Platform"]),
        // The modules are compiled by the tests, against the header alone.
        tests(
            "PluginHostTests", ["PluginHost", "Delivery", "TestSupport", "Policy", "Configuration", "Events", "Platform"],
            exclude: ["Modules"]),
        // Every adapter defines the one symbol that a module exports; linked together for the tests, the first one stands.
        .testTarget(
            name: "AdapterTests",
            dependencies: ["Console", "Exec", "File", "NoOp", "PluginKit", "TestSupport", "Events", "CZlib", "CZstd"],
            swiftSettings: strict,
            linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "muldefs"])]),
        // A program, so that the author of any adapter can hold a built module against the contract.
        .executableTarget(
            name: "switchyard-contract", dependencies: ["PluginHost", "Delivery", "Policy", "Configuration", "Platform", "CPlatform"],
            path: "Tests/Contract",
            exclude: ["bad.c", "bad.json", "scripted.json", "server.py"], swiftSettings: strict),
        // A program, since it reads the cases of the specification from a folder of the user's.
        .executableTarget(name: "switchyard-conformance", dependencies: ["Expressions"], path: "Tests/Conformance", swiftSettings: strict),
        tests("HTTPAdapterTests", ["HTTP", "PluginKit", "TestSupport", "CZlib", "CZstd"], exclude: ["tls-server.py"]),
        tests(
            "RouterTests",
            [
                "Router", "TestSupport", "FaultyFiles", "Ledger", "Spool", "Ingest", "Delivery", "Policy", "Configuration", "Events",
                "Platform",
            ]),
        tests("EndToEndTests", ["TestSupport", "CSQLite", "CZlib", "CZstd"]),
    ]
        + [
            adapter("Console", ["CPlatform"]),
            adapter("Exec"),
            adapter("File", ["CPlatform", "CZlib", "CZstd"]),
            adapter("HTTP", ["CCurl", "CCrypto", "CZlib", "CZstd"]),
            adapter("NoOp", hasCases: false),
        ]
)

// What warns does not build: `make check` asks for it.
if Context.environment["SWITCHYARD_WARNINGS"] == "errors" {
    let warnings = ["-Wall", "-Wextra", "-Werror"]
    for target in package.targets where target.type != .system {
        target.cSettings = (target.cSettings ?? []) + [.unsafeFlags(warnings)]
        target.cxxSettings = (target.cxxSettings ?? []) + [.unsafeFlags(warnings)]
        target.swiftSettings =
            (target.swiftSettings ?? []) + [.treatAllWarnings(as: .error), .unsafeFlags(warnings.flatMap { ["-Xcc", $0] })]
    }
}
