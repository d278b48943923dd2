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
        ]),
        // The modules are many and small: what one calls of another is specialised and inlined as if they were one.
        .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release)),
    ]

/// What is built besides the program: "checks", the fuzzers and the simulations, which look inside of the modules in an optimised
/// build, or "benchmarks", programs that measure a module alone. Both need libraries that the program does without.
let extras = Context.environment["SWITCHYARD_EXTRAS"] ?? ""

let testable: [SwiftSetting] = extras == "checks" ? [.unsafeFlags(["-enable-testing"])] : []

/// The settings of a module of the program.
let settings = lean + testable

func module(_ name: String, in room: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(room)/\(name)", swiftSettings: settings)
}

/// Code in C of the project's own, or a look-up of a library that is loaded when it is first needed.
func native(_ name: String, in room: String = "System", _ dependencies: [Target.Dependency] = [], links libraries: [String] = []) -> Target
{
    .target(
        name: name, dependencies: dependencies, path: "Sources/\(room)/\(name)",
        linkerSettings: libraries.isEmpty ? nil : libraries.map { .linkedLibrary($0) })
}

func library(_ name: String, _ pkgConfig: String, _ package: String) -> Target {
    .systemLibrary(name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig, providers: [.apt([package])])
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

/// An adapter is a folder under Plugins/ and becomes lib<Name>.so beside the executable.
func adapter(_ name: String, _ dependencies: [Target.Dependency] = [], hasCases: Bool = true) -> Target {
    // The cases of the contract lie beside it; see Tests/Contract.
    .target(
        name: name, dependencies: ["PluginKit"] + dependencies, path: "Plugins/\(name)", exclude: hasCases ? ["contract.json"] : [],
        swiftSettings: settings)
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
                "Router", "Explaining", "Replaying", "Listener", "Sending", "Control", "Ingest", "PluginHost", "Delivery", "Ledger",
                "Spool", "Admission",
                "ConsentGate", "Judging",
                "Configuration", "Plans", "Document", "Expressions", "Database", "Events", "Platform", "CPlatform",
            ],
            path: "Sources/Command", swiftSettings: settings,
            linkerSettings: [.unsafeFlags(["-Xlinker", "-rpath", "-Xlinker", "$ORIGIN/../lib/switchyard"])]),
        module(
            "Router", in: "Flow",
            [
                "Statements", "Withdrawal", "Holding", "Generations", "Workers", "Ingest", "PluginHost", "Delivery", "Ledger", "Spool",
                "Admission", "ConsentGate", "Editing", "Sampling", "Judging",
                "Plans", "Expressions", "Events", "Platform",
            ]),
        // What events of the stream say to the ledger.
        module(
            "Statements", in: "Consent",
            ["Workers", "Ledger", "Judging", "Admission", "ConsentGate", "Events", "Platform"]),
        // What a withdrawal of consent destroys, and the receipt for it.
        module(
            "Withdrawal", in: "Consent", ["Holding", "Delivery", "Ledger", "Admission", "ConsentGate", "Platform"]),
        // Events that wait for their subjects' consent.
        module(
            "Holding", in: "Consent",
            [
                "Generations", "Workers", "Delivery", "Spool", "Ledger", "Judging", "Admission", "ConsentGate", "Plans", "Events",
                "Platform",
            ]),
        // A plan at work: its rules, and a lane for each provider.
        module(
            "Generations", in: "Flow",
            [
                "Workers", "Ingest", "Delivery", "Judging", "Sampling", "Admission", "ConsentGate", "Plans", "Platform",
            ]),
        // Why each route does what it does with an event.
        module(
            "Explaining", in: "Inspect",
            [
                "Workers", "Judging", "Editing", "Sampling", "Ledger", "Admission", "ConsentGate", "Plans", "Document", "Expressions",
                "Events",
                "Platform",
            ]),
        // Dead letters on their way once more.
        module(
            "Replaying", in: "Inspect",
            [
                "Workers", "Delivery", "Judging", "Spool", "Ledger", "Admission", "ConsentGate", "Plans", "Expressions", "Events",
                "Platform",
            ]),
        module("Control", in: "Inspect", ["Platform", "CPlatform"]),
        module("Sending", in: "Inspect", ["Platform", "CPlatform", "CJansson", "CCurlLoaded"]),
        // What a worker does to a block of lines.
        module(
            "Workers", in: "Flow", ["Ingest", "Judging", "Admission", "ConsentGate", "Events", "Platform", "CPlatform"]),
        module("Listener", in: "Flow", ["Ingest", "Plans", "Dialects", "Events", "Platform", "CMicrohttpd", "CDecoders"]),
        module("Ingest", in: "Flow", ["Plans", "Events", "Platform", "CPlatform"]),
        module(
            "PluginHost", in: "Flow", ["Delivery", "Admission", "Plans", "Document", "Platform", "CPlatform", "CExit", "CSwitchyardPlugin"]),
        module("Delivery", in: "Flow", ["Spool", "Admission", "ConsentGate", "Plans", "Events", "Platform"]),
        module("Spool", in: "Flow", ["Admission", "ConsentGate", "Plans", "Events", "Database", "Platform", "CCrypto"]),
        // Who consented to what, on disk.
        module("Ledger", in: "Consent", ["Admission", "ConsentGate", "Events", "Database", "Platform", "CJansson", "CCrypto"]),
        // What every route says of an event, and the edited copy for each lane.
        module(
            "Judging", in: "Rules",
            ["Admission", "ConsentGate", "Editing", "Sampling", "Matching", "Plans", "Expressions", "Events", "Platform"]),
        module("Editing", in: "Rules", ["Plans", "Redaction", "Expressions", "Events", "CCrypto"]),
        module("Sampling", in: "Rules", ["Matching", "Plans", "Expressions", "Events", "Platform"]),
        // Who consents to what, by the event and by the ledger, held against what is demanded.
        module(
            "ConsentGate", in: "Consent", ["Admission", "Matching", "Signals", "Configuration", "Plans", "Events", "Platform", "CPlatform"]),
        module("Matching", in: "Rules", ["Plans", "Events"]),
        // The seal: parcels and batches, which take only events that were admitted.
        module("Admission", in: "Consent", ["Events", "Platform"]),
        // Reads routes.json: a plan, or every fault with its place.
        module("Configuration", in: "Rules", ["Plans", "Document", "Redaction", "Expressions", "Events"]),
        // What routes.json says, checked: what the other modules go by.
        module("Plans", in: "Rules", ["Document", "Expressions", "Events"]),
        // JSON as people write it, each value with its place.
        module("Document", in: "Rules", ["CJansson"]),
        // Finds and masks in the strings of an event.
        module("Redaction", in: "Rules", ["Expressions", "Events"]),
        module("Expressions", in: "Rules", ["Events", "Platform", "CPlatform"]),
        module("Events", in: "Base", ["CSIMD"]),
        // Consent as others write it.
        module("Signals", in: "Consent"),
        // Request bodies of vendors' client libraries to lines of events.
        module("Dialects", in: "Flow", ["Events"]),
        module("Database", in: "Base", ["Platform", "CSQLite", "CChecksum"]),
        module("Platform", in: "Base", ["CPlatform"]),

        // What the author of an adapter imports.
        module("PluginKit", in: "Kits", ["CSwitchyardPlugin", "CJansson", "Events", "Platform"]),

        // The plugin ABI: one header, and nothing else that a module and the router share.
        native("CSwitchyardPlugin", in: "Kits"),

        // C of the project's own: vector intrinsics, checksums, system calls that Swift cannot make, and what exit is in the router's
        // program, which no module may link.
        native("CSIMD"),
        native("CChecksum"),
        native("CPlatform"),
        native("CExit"),
        native("CRE2", links: ["re2"]),
        // Libraries that are loaded when they are first needed: no program links them.
        native("CMicrohttpd"),
        native("CDecoders"),
        native("CCrypto"),
        native("CCurlLoaded", ["CCrypto"]),
        // Libraries that are linked.
        library("CJansson", "jansson", "libjansson-dev"),
        library("CSQLite", "sqlite3", "libsqlite3-dev"),
        library("CCurl", "libcurl", "libcurl4-openssl-dev"),
        library("CZlib", "zlib", "zlib1g-dev"),
        library("CZstd", "libzstd", "libzstd-dev"),

        // What several tests share: numbers by a seed, slow models of what the program does fast, faults on demand.
        .target(name: "Seeded", path: "Tests/Seeded", swiftSettings: strict),
        .target(
            name: "Models",
            dependencies: [
                "Seeded", "Admission", "ConsentGate", "Judging", "Redaction", "Configuration", "Plans", "Expressions", "Events", "CCrypto",
            ],
            path: "Tests/Models", swiftSettings: strict + testable),
        .target(name: "TestSupport", dependencies: ["FaultyFiles", "Spool", "Platform"], path: "Tests/Support", swiftSettings: strict),
        // A file system under SQLite that fails when it is told to.
        .target(name: "FaultyFiles", dependencies: ["CSQLite"], path: "Tests/FaultyFiles"),
        tests("SpoolTests", ["Spool", "TestSupport", "Admission", "ConsentGate", "Plans", "Events", "Database", "Platform"]),
        tests("DatabaseTests", ["Database", "Platform", "CChecksum"]),
        tests("LedgerTests", ["Seeded", "Ledger", "TestSupport", "Admission", "ConsentGate", "Database", "Platform"]),
        tests("EventsTests", ["Seeded", "Events"]),
        tests("SignalsTests", ["Seeded", "Signals"]),
        tests("DialectsTests", ["Dialects", "Events"], exclude: ["Samples"]),
        tests("ExpressionsTests", ["Expressions", "Events"]),
        tests("RedactionTests", ["Models", "Seeded", "Redaction", "TestSupport", "Expressions", "Events"]),
        tests("ConfigurationTests", ["Seeded", "Configuration", "Plans", "Document", "TestSupport"]),
        tests("AdmissionTests", ["Admission", "Events"]),
        tests(
            "ConsentGateTests",
            [
                "Models", "Seeded", "Admission", "ConsentGate", "Judging", "TestSupport", "Plans", "Events",
            ]),
        tests(
            "EditingTests",
            ["Models", "Seeded", "Admission", "Editing", "Judging", "TestSupport", "Plans", "Redaction", "Events"]),
        tests("SamplingTests", ["Models", "Seeded", "Admission", "Sampling", "Judging", "Plans", "Events"]),
        tests(
            "JudgingTests",
            [
                "Models", "Seeded", "Admission", "ConsentGate", "Editing", "Sampling", "Judging", "TestSupport", "Plans",
                "Redaction", "Expressions", "Events",
            ]),
        tests(
            "DeliveryTests",
            [
                "Delivery", "Spool", "Database", "TestSupport", "Admission", "ConsentGate", "Judging", "Plans", "Events",
                "Platform",
            ]),
        tests("ListenerTests", ["Listener", "Ingest", "Plans", "Dialects", "Events", "Platform", "CZlib", "CZstd"]),
        tests("IngestTests", ["Ingest", "Plans", "Events", "Platform"]),
        tests("PlatformTests", ["Platform", "TestSupport"]),
        tests("ControlTests", ["Control", "Platform"]),
        tests("SendingTests", ["Sending", "TestSupport", "Platform"]),
        // The modules are compiled by the tests, against the header alone.
        tests(
            "PluginHostTests", ["PluginHost", "Delivery", "TestSupport", "Admission", "Plans", "Document", "Events", "Platform"],
            exclude: ["Modules"]),
        // Every adapter defines the one symbol that a module exports; linked together for the tests, the first one stands.
        .testTarget(
            name: "AdapterTests",
            dependencies: ["Console", "Exec", "File", "NoOp", "PluginKit", "TestSupport", "Events", "CZlib", "CZstd"],
            swiftSettings: strict,
            linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "muldefs"])]),
        // A program, so that the author of any adapter can hold a built module against the contract.
        .executableTarget(
            name: "switchyard-contract", dependencies: ["Document", "PluginHost", "Delivery", "Configuration", "Platform", "CPlatform"],
            path: "Tests/Contract",
            exclude: ["bad.c", "bad.json", "scripted.json", "server.py"], swiftSettings: strict),
        // A program, since it reads the cases of the specification from a folder of the user's.
        .executableTarget(name: "switchyard-conformance", dependencies: ["Expressions"], path: "Tests/Conformance", swiftSettings: strict),
        tests("HTTPAdapterTests", ["HTTP", "PluginKit", "TestSupport", "CZlib", "CZstd"], exclude: ["tls-server.py"]),
        tests("HoldingTests", ["Holding", "Spool", "Admission", "Plans", "Platform"]),
        tests(
            "GenerationsTests",
            ["Generations", "Router", "Delivery", "Ingest", "Admission", "Plans", "Events", "Platform"]),
        tests(
            "RouterTests",
            [
                "Seeded",
                "Router", "Replaying", "Statements", "Withdrawal", "Holding", "Generations", "Workers", "TestSupport", "FaultyFiles",
                "Ledger", "Spool", "Ingest", "Delivery", "Admission", "ConsentGate", "Judging",
                "Plans", "Events",
                "Platform",
            ]),
        tests("EndToEndTests", ["Seeded", "TestSupport", "CSQLite", "CZlib", "CZstd"]),
    ]
        + [
            adapter("Console", ["CPlatform"]),
            adapter("Exec"),
            adapter("File", ["CPlatform", "CZlib", "CZstd"]),
            adapter("HTTP", ["CCurl", "CCrypto", "CZlib", "CZstd"]),
            adapter("NoOp", hasCases: false),
        ]
)

/// A program that is built when it is asked for, with its own settings: it is not the product.
func program(_ name: String, in folder: String, _ dependencies: [Target.Dependency], _ more: [SwiftSetting] = []) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "\(folder)/\(name)",
        swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("InternalImportsByDefault")] + more)
}

switch extras {
case "checks":
    package.targets += [
        .target(name: "COracle", path: "Fuzz/COracle", linkerSettings: [.linkedLibrary("simdjson")]),
        program(
            "fuzz", in: "Fuzz",
            [
                "Models", "Seeded", "Events", "Platform", "Dialects", "Configuration", "Plans", "Ingest", "Listener", "Delivery",
                "PluginHost",
                "Exec",
                "PluginKit", "Redaction", "Signals", "Expressions", "Admission", "CCrypto", "COracle",
            ]),
        program("fuzz-expressions", in: "Fuzz", ["Seeded", "Expressions", "Events"]),
        .target(name: "Seeds", dependencies: ["Platform"], path: "Tests/Simulation/Seeds", swiftSettings: strict),
        program(
            "simulate", in: "Tests/Simulation", ["Seeds", "Delivery", "Spool", "Admission", "Plans", "Platform"], strict),
        program(
            "promise", in: "Tests/Simulation",
            [
                "Seeds", "Withdrawal", "Delivery", "Ledger", "Spool", "Admission", "ConsentGate", "Judging", "Configuration", "Plans",
                "Events", "Platform",
            ], strict),
    ]
case "benchmarks":
    package.targets += [
        .target(
            name: "CDocument", path: "Benchmarks/Scanner/CDocument", cxxSettings: [.unsafeFlags(["-O3"])],
            linkerSettings: [.linkedLibrary("simdjson")]),
        .target(name: "Lines", dependencies: ["Seeded"], path: "Benchmarks/Scanner/Lines", swiftSettings: strict),
        program("scanner-bench", in: "Benchmarks/Scanner", ["Lines", "Events", "CDocument"]),
        program("scrub-bench", in: "Benchmarks/Scanner", ["Lines", "Events", "Redaction"]),
    ]
default: break
}
package.cxxLanguageStandard = .cxx17

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
