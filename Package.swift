// swift-tools-version: 6.2
import PackageDescription

// All Swift targets share these settings, so that none is less strict than the others.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// True if this package is a dependency of another one: SwiftPM puts it into a folder of that name.
let isDependency = Context.packageDirectory.split(separator: "/").dropLast().last == "checkouts"

/// The additional programs to build: "checks" (the fuzzers and the simulations, which use internals of the modules in an optimised build)
/// or "benchmarks" (programs that measure one module). Both need libraries that the router does not need.
let extras = Context.environment["SWITCHYARD_EXTRAS"] ?? ""

/// By default the compiler imports the modules of regular expressions and of concurrency into every file, and the executable would load
/// their libraries. No module uses them, and without them the executable starts faster and is smaller. SwiftPM refuses such flags in a
/// dependency.
let lean: [SwiftSetting] =
    isDependency
    ? strict
    : strict + [
        .unsafeFlags([
            "-Xfrontend", "-disable-implicit-string-processing-module-import",
            "-Xfrontend", "-disable-implicit-concurrency-module-import",
        ]),
        // The modules are many and small. This option specialises and inlines calls between them as in one module.
        .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release)),
        // Whether two accesses to a variable overlap is checked at run time in every test, fuzzer and simulation. The program leaves the check
        // out: it is an eighth of the instructions of a request with one event.
        .unsafeFlags(extras == "checks" ? [] : ["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
        // A program or a library contains all code that calls its modules. So the linker may leave out public functions that nothing calls.
        .unsafeFlags(["-Xfrontend", "-internalize-at-link", "-Xfrontend", "-function-sections"], .when(configuration: .release)),
    ]

let testable: [SwiftSetting] = extras == "checks" ? [.unsafeFlags(["-enable-testing"])] : []

/// The settings of a module of the program.
let settings = lean + testable

/// Code that every module of a vendor contains, and that runs for a batch or less often, is compiled for size.
let small: [SwiftSetting] = isDependency ? [] : [.unsafeFlags(["-Osize"], .when(configuration: .release))]

func module(
    _ name: String, in folder: String, _ dependencies: [Target.Dependency] = [], more: [SwiftSetting] = []
) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)", swiftSettings: settings + more)
}

/// A target with C or C++ code: code of the project, or functions that load a library when it is first needed.
func native(_ name: String, in folder: String = "System", _ dependencies: [Target.Dependency] = [], links libraries: [String] = [])
    -> Target
{
    .target(
        name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)",
        linkerSettings: libraries.isEmpty ? nil : libraries.map { .linkedLibrary($0) })
}

func library(_ name: String, _ pkgConfig: String, _ package: String) -> Target {
    .systemLibrary(name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig, providers: [.apt([package])])
}

/// Relocations are packed, and equal code is kept once, which only lld does.
let compact = ["-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs", "-Xlinker", "--icf=all"]

/// The functions that a router calls at its start are placed side by side, so that it has mapped little of its program while it waits. See
/// Scripts/order.py.
let ordered = [
    "-Xlinker", "--symbol-ordering-file=\(Context.packageDirectory)/Sources/Command/startup.order", "-Xlinker", "--no-warn-symbol-ordering",
]

/// An installed program finds the Swift runtime beside its modules.
let findsRuntime: [LinkerSetting] =
    isDependency
    ? []
    : [
        .unsafeFlags(["-Xlinker", "-rpath", "-Xlinker", "$ORIGIN/../lib/switchyard"]),
        .unsafeFlags(compact + ordered, .when(configuration: .release)),
    ]

/// The vendors that the fuzzers and the bench try.
let triedVendors: [Target.Dependency] = ["Amplitude", "GA4", "Mixpanel", "OTLP", "PostHog", "RudderStack", "Segment", "Sentry"]
let vendors = triedVendors + ["Braze"]

/// What the tests of a vendor need besides the vendor.
let vendorTests: [Target.Dependency] = ["VendorKit", "VendorSupport", "HTTPSupport", "HTTPKit", "PluginKit"]

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

/// Tests of several adapters. Every adapter defines the symbol that a module exports, and the linker uses the first one.
func adapterTests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, swiftSettings: strict,
        linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "muldefs"])])
}

/// An adapter is a folder under Plugins/ and becomes lib<Name>.so beside the executable.
func adapter(
    _ name: String, on kit: Target.Dependency = "PluginKit", _ dependencies: [Target.Dependency] = [], hasCases: Bool = true
) -> Target {
    // contract.json holds its cases for the contract; see Tests/Contract.
    .target(
        name: name, dependencies: [kit] + dependencies, path: "Plugins/\(name)", exclude: hasCases ? ["contract.json"] : [],
        swiftSettings: settings)
}

/// An adapter that posts to the API of a vendor.
func vendor(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target { adapter(name, on: "VendorKit", dependencies) }

func adapterProduct(_ name: String) -> Product {
    .library(name: name, type: .dynamic, targets: [name, "ModuleExports"])
}

/// A module exports its entry and nothing else, so the linker can leave out what no code of the module calls. This belongs to the library: the
/// tests of an adapter link its code without it.
let exportsEntry: [LinkerSetting] =
    isDependency
    ? []
    : [
        .unsafeFlags(compact + ["-Xlinker", "--version-script=\(Context.packageDirectory)/Sources/Kits/ModuleExports/module.map"])
    ]

let package = Package(
    name: "switchyard",
    products: [
        .executable(name: "switchyard", targets: ["switchyard"]),
        adapterProduct("Amplitude"),
        adapterProduct("Braze"),
        adapterProduct("Console"),
        adapterProduct("Exec"),
        adapterProduct("File"),
        adapterProduct("GA4"),
        adapterProduct("HTTP"),
        adapterProduct("Mixpanel"),
        adapterProduct("NATS"),
        adapterProduct("NoOp"),
        adapterProduct("OTLP"),
        adapterProduct("PostHog"),
        adapterProduct("RudderStack"),
        adapterProduct("Segment"),
        adapterProduct("Sentry"),
        // What a module in a package of its own needs: the kits, what its tests use, and the contract.
        .library(name: "PluginKit", targets: ["PluginKit"]),
        .library(name: "HTTPKit", targets: ["HTTPKit"]),
        .library(name: "VendorKit", targets: ["VendorKit"]),
        .library(name: "VendorSupport", targets: ["VendorSupport"]),
        .executable(name: "switchyard-contract", targets: ["switchyard-contract"]),
        // This library is loaded by name when an expression uses `matches`. Nothing else needs libre2 and the C++ library.
        .library(name: "switchyard-patterns", type: .dynamic, targets: ["CRE2"]),
    ],
    targets: [
        // The modules, from the command down. A module imports only modules that are below it in this list.
        .executableTarget(
            name: "switchyard",
            dependencies: [
                "AuditCommands", "ConsentCommands", "InspectCommands", "Startup", "Terminal", "Router", "Replaying", "Listener", "Sending",
                "Control",
                "Ingest",
                "PluginHost", "Delivery", "Queueing", "Spool", "HeldEventStore", "DeadLetterStore", "StateFiles", "Holding", "Workers",
                "Audit", "MerkleLog", "Ledger", "Erasing", "Withdrawal", "Admission", "Judging", "Plans", "Document", "Expressions",
                "Platform",
                "CPlatform",
            ],
            path: "Sources/Command/switchyard", swiftSettings: settings,
            linkerSettings: findsRuntime),
        // `switchyard audit`: verifies the audit trail, and proves what is in it.
        module(
            "AuditCommands", in: "Command",
            ["Startup", "Terminal", "Audit", "MerkleLog", "Ledger", "StateFiles", "PluginHost", "Plans", "Platform"]),
        // `switchyard consent`, and the service that carries out its requests in a running router.
        module(
            "ConsentCommands", in: "Command",
            [
                "Startup", "Terminal", "Control", "Reporting", "Erasing", "Delivery", "Withdrawal", "Audit", "Ledger", "Spool",
                "HeldEventStore", "DeadLetterStore",
                "StateFiles",
                "PluginHost", "ConsentGate", "Admission", "Plans", "Document", "Events", "Platform",
            ]),
        // The commands that show what a configuration, a module or a router does.
        module(
            "InspectCommands", in: "Command",
            [
                "Audit", "Tapping", "Ingest", "Page", "CPlatform",
                "Startup", "Terminal", "Router", "RouteTesting", "PlanTools", "Linting", "Explaining", "Statements", "Erasing", "Listener",
                "Control",
                "Generations", "Workers", "Delivery",
                "Queueing",
                "Holding",
                "Spool", "HeldEventStore", "DeadLetterStore", "StateFiles", "PluginHost", "Ledger", "Judging", "Admission", "ConsentGate",
                "Editing", "Configuration", "Plans", "TrackingPlans", "Document", "Expressions", "Events", "Platform",
            ]),
        // What several commands do first: read the configuration, make the providers, and take signals.
        module(
            "Startup", in: "Command",
            [
                "Terminal", "Router", "Replaying", "PluginHost", "Erasing", "Delivery", "Spool", "HeldEventStore", "DeadLetterStore",
                "StateFiles", "Audit", "MerkleLog", "Ledger", "Admission", "ConsentGate", "Configuration", "Plans", "Document", "Platform",
                "CPlatform",
            ]),
        // The command line, messages and exit codes.
        module("Terminal", in: "Command", ["Platform", "CPlatform"]),
        module(
            "Router", in: "Flow",
            [
                "Statements", "Erasing", "Withdrawal", "Holding", "Generations", "Workers", "Ingest", "Delivery", "Queueing", "Audit",
                "Ledger", "Spool", "StateFiles",
                "Tapping", "Admission", "ConsentGate", "Judging", "Plans", "Events", "Platform",
            ]),
        // Writes the consent statements in the events to the ledger.
        module(
            "Statements", in: "Consent",
            ["Workers", "Ledger", "Judging", "Admission", "ConsentGate", "Events", "Platform"]),
        // Asks providers to erase what they hold of a person.
        module(
            "Erasing", in: "Consent",
            [
                "Delivery", "Queueing", "StateFiles", "Editing", "Plans", "Expressions", "Events", "Database", "Platform", "CJansson",
            ]),
        // Carries out withdrawals of consent, and finishes their receipts.
        module(
            "Withdrawal", in: "Consent", ["Holding", "Delivery", "Queueing", "Ledger", "Admission", "ConsentGate", "Platform"]),
        // Events that wait for their subjects' consent.
        module(
            "Holding", in: "Consent",
            [
                "Generations", "Workers", "Delivery", "Queueing", "HeldEventStore", "StateFiles", "Audit", "Ledger", "Judging", "Admission",
                "ConsentGate",
                "Plans",
                "Events", "Platform",
            ]),
        // An active plan: its rules, and a lane for each provider.
        module(
            "Generations", in: "Flow",
            [
                "Tapping",
                "Shaping", "Workers", "Ingest", "Delivery", "Queueing", "Judging", "Admission", "ConsentGate", "Plans", "Platform",
            ]),
        // Explains the verdict of each route for an event.
        module(
            "Explaining", in: "Inspect",
            [
                "Workers", "Judging", "Editing", "Sampling", "Ledger", "Admission", "ConsentGate", "Plans", "TrackingPlans", "Document",
                "Expressions",
                "Events", "Platform",
            ]),
        // Tests of routes: their files, and what is compared.
        module(
            "RouteTesting", in: "Inspect",
            ["Explaining", "Judging", "Plans", "FormReading", "Editing", "Document", "Expressions", "Events"]),
        // The tools of the tracking plan: a first plan from events, what differs, a page, typed code, other forms of plans.
        module("PlanTools", in: "Inspect", ["TrackingPlans", "Expressions", "Document", "Events"]),
        // What is valid in a configuration and most likely not meant so.
        module(
            "Linting", in: "Inspect",
            ["PlanTools", "Configuration", "Judging", "Plans", "TrackingPlans", "Sampling", "Editing", "Document", "Expressions", "Events"]),
        // The report of what is collected, and with whose consent.
        module(
            "Reporting", in: "Inspect", ["Ledger", "Plans", "Editing", "Document", "Expressions", "Events", "Platform"]),
        // Sends dead letters again.
        module(
            "Replaying", in: "Inspect",
            [
                "Shaping", "Workers", "Delivery", "Queueing", "Judging", "DeadLetterStore", "Ledger", "Admission", "ConsentGate", "Plans",
                "Expressions",
                "Events", "Platform",
            ]),
        // The filter and the transform of a provider, which are carried out when a lane hands over.
        module("Shaping", in: "Flow", ["Delivery", "Queueing", "Judging", "Admission", "Platform"]),
        // The page on the address of admin: who may use it, its files, and the last hours of the lanes. Pure but for its random bytes.
        module("Page", in: "Inspect", ["Control", "Platform", "CPage"]),
        module("Control", in: "Inspect", ["Platform"]),
        module("Sending", in: "Inspect", ["Platform", "CPlatform", "CJansson", "CCurlLoaded"]),
        // The workers, which scan and judge blocks of lines.
        module(
            "Workers", in: "Flow", ["Ingest", "Judging", "Admission", "ConsentGate", "Events", "Platform", "CPlatform"]),
        module("Listener", in: "Flow", ["HTTPServer", "Ingest", "Plans", "Dialects", "Events", "Platform", "CDecoders"]),
        // The HTTP/1.1 server under the listeners.
        module("HTTPServer", in: "Flow", ["Events", "Platform", "CPlatform", "CEpoll", "CTLS"]),
        module("Ingest", in: "Flow", ["Plans", "Events", "Platform", "CPlatform"]),
        module(
            "PluginHost", in: "Flow",
            [
                "Delivery", "Queueing", "Ingest", "Admission", "Configuration", "Plans", "Document", "Encoding", "Platform", "CPlatform",
                "CChecksum", "CExit", "CSwitchyardPlugin",
            ]),
        module(
            "Delivery", in: "Flow",
            ["Tapping", "Queueing", "Spool", "DeadLetterStore", "StateFiles", "Admission", "ConsentGate", "Plans", "Platform"]),
        // The queue of a lane as a value: it decides what waits, what leaves next and what becomes of it.
        module("Queueing", in: "Flow", ["Spool", "Admission", "ConsentGate", "Plans", "Events", "Platform"]),
        // What people look at in a running router: captured events, in bounded queues.
        module("Tapping", in: "Flow", ["Admission", "Expressions", "Plans", "Platform", "CPlatform"]),
        // What a router stores in its state folder: the queue of a lane, held events and dead letters.
        module("Spool", in: "Flow", ["StateFiles", "Admission", "ConsentGate", "Events", "Database", "Platform"]),
        module("HeldEventStore", in: "Flow", ["StateFiles", "Admission", "Database", "Platform"]),
        module("DeadLetterStore", in: "Flow", ["StateFiles", "Admission", "ConsentGate", "Database", "Platform"]),
        // The state folder, and what its stores share: encryption, rows with checksums, and the numbers of names.
        module("StateFiles", in: "Flow", ["Admission", "Plans", "Database", "Platform", "CCrypto"]),
        // The audit trail: its entries, its files, its writer and its verification.
        module(
            "Audit", in: "Consent",
            ["MerkleLog", "Ledger", "ConsentGate", "Encoding", "Platform", "CJansson", "CCrypto"]),
        // The consent records on disk.
        module(
            "Ledger", in: "Consent", ["StateFiles", "Admission", "ConsentGate", "Events", "Database", "Platform", "CJansson", "CCrypto"]),
        // The verdict of every route for an event, and the edited copy for each lane.
        module(
            "Judging", in: "Rules",
            [
                "Admission", "ConsentGate", "Editing", "Sampling", "Matching", "Plans", "TrackingPlans", "Expressions", "Events",
                "Platform",
            ]),
        module("Sampling", in: "Rules", ["Matching", "Plans", "Expressions", "Events", "Platform"]),
        // Reads routes.json, and returns a plan or all faults with their places.
        module(
            "Configuration", in: "Rules",
            [
                "MerkleLog", "ConsentGate", "Matching", "Plans", "TrackingPlans", "Editing", "FormReading", "Document", "Expressions",
                "Events",
            ]),
        // Compares the consent in the event and in the ledger with the consent that a route demands.
        module(
            "ConsentGate", in: "Consent", ["Admission", "Matching", "Signals", "Plans", "Events", "Platform", "CPlatform"]),
        module("Matching", in: "Rules", ["Plans", "Events", "CPlatform"]),
        // Merkle trees, signed notes and their proofs, after RFC 6962 and C2SP. Pure: bytes in, hashes and verdicts out.
        module("MerkleLog", in: "Consent", ["Encoding", "CCrypto"]),
        // Parcels and batches, which take only admitted events.
        module("Admission", in: "Consent", ["Events", "Platform"]),
        // The plan: the validated contents of routes.json, which the other modules use.
        module("Plans", in: "Rules", ["TrackingPlans", "Editing", "Document", "Expressions", "Events"]),
        // The operations of a transform: each declares its form, and carries itself out.
        module("Editing", in: "Rules", ["FormReading", "Document", "Redaction", "Expressions", "Events", "CCrypto"]),
        // Forms declare what a value of the configuration must be. They read it, and describe it as JSON Schema.
        module("FormReading", in: "Rules", ["Document", "Expressions", "Events"]),
        // JSON documents that people write. Each value has its place in the file.
        module("Document", in: "Rules", ["Encoding", "CJansson"]),
        // Finds and masks personal data in the strings of an event.
        module("Redaction", in: "Rules", ["Expressions", "Events", "Encoding"]),
        // Tracking plans: which events there are, what their members must be, and the check of an event against that.
        module("TrackingPlans", in: "Rules", ["JSONSchema", "FormReading", "Document", "Expressions", "Events"]),
        // JSON Schemas of the draft 2020-12, compiled to a checker that works on the bytes of an event.
        module("JSONSchema", in: "Rules", ["Document", "Expressions", "Events", "CSIMD"]),
        module("Expressions", in: "Rules", ["Events", "Platform", "Encoding", "CPlatform"]),
        module("Events", in: "Base", ["Encoding", "CSIMD"]),
        // Reads consent signals in the formats of other organisations.
        module("Signals", in: "Consent"),
        // Converts request bodies of vendors' client libraries to lines of events.
        module("Dialects", in: "Flow", ["Events", "Encoding"]),
        module("Database", in: "Base", ["Events", "Platform", "CSQLite", "CChecksum"]),
        module("Platform", in: "Base", ["Encoding", "CPlatform"], more: small),
        // How strings of JSON, bytes and times are written.
        module("Encoding", in: "Base"),

        // The kit that the author of an adapter imports.
        module("PluginKit", in: "Kits", ["CSwitchyardPlugin", "CJansson", "Events", "Platform", "Encoding"]),

        // The HTTP client under the adapters that post to a server.
        module("HTTPKit", in: "Kits", ["PluginKit", "Events", "CCurl", "CZlib", "CZstd"], more: small),
        // Bodies and answers by expressions of routes.json.
        module("ExpressionKit", in: "Kits", ["HTTPKit", "PluginKit", "Expressions", "Events", "CCrypto"]),
        // The kit under the adapters of vendors: it reads events, writes what a vendor's API takes, and understands the answers.
        module("VendorKit", in: "Kits", ["HTTPKit", "PluginKit", "Events", "Encoding"]),
        // What modules that write to a log share: names by template, members of events, outcomes of single events.
        module("StreamKit", in: "Kits", ["HTTPKit", "PluginKit", "Events"]),
        // The batch API that Segment and RudderStack share.
        module("SegmentAPI", in: "Kits", ["VendorKit"]),

        // Tells the linker what a module exports. It has no code.
        .target(
            name: "ModuleExports", path: "Sources/Kits/ModuleExports", exclude: ["module.map"], linkerSettings: exportsEntry),
        // The plugin ABI. Its one header is the only code that a module and the router share.
        native("CSwitchyardPlugin", in: "Kits"),

        // C code of the project: vector intrinsics, checksums, and system calls that Swift cannot make. CExit replaces exit() in the
        // router's program, and no module may link it.
        native("CSIMD"),
        native("CChecksum"),
        native("CPlatform"),
        native("CEpoll"),
        native("CExit"),
        // The files of the page, as constants.
        .target(name: "CPage", path: "Sources/System/CPage", exclude: ["files"]),
        native("CRE2", links: ["re2"]),
        // Libraries that are loaded when they are first needed. No program links them.
        native("CDecoders"),
        native("CCrypto"),
        native("CTLS", ["CCrypto"]),
        native("CCurl", ["CCrypto"]),
        native("CCurlLoaded", ["CCurl"]),
        native("CNATS", ["CCrypto"]),
        // Libraries that are linked.
        library("CJansson", "jansson", "libjansson-dev"),
        library("CSQLite", "sqlite3", "libsqlite3-dev"),
        library("CZlib", "zlib", "zlib1g-dev"),
        library("CZstd", "libzstd", "libzstd-dev"),

        // Code that several tests share: random numbers with a seed, slow models of fast code, and faults on demand.
        .target(name: "Seeded", path: "Tests/Seeded", swiftSettings: strict),
        .target(
            name: "Models",
            dependencies: [
                "Seeded", "Admission", "ConsentGate", "Judging", "Plans", "Editing", "FormReading", "Document", "Events",
                "CCrypto",
            ],
            path: "Tests/Models", swiftSettings: strict + testable),
        .target(
            name: "TestSupport", dependencies: ["FaultyFiles", "DeadLetterStore", "Platform", "CZlib", "CZstd"], path: "Tests/Support",
            swiftSettings: strict),
        // Folders, batches and damage for the tests of the stores.
        .target(
            name: "StoreFixtures", dependencies: ["TestSupport", "Admission", "Plans", "Events", "Platform"],
            path: "Tests/StoreFixtures", swiftSettings: strict),
        // A file system for SQLite that fails when a test says so.
        .target(name: "FaultyFiles", dependencies: ["CSQLite"], path: "Tests/FaultyFiles"),
        tests("StateFilesTests", ["StateFiles", "StoreFixtures", "Platform"]),
        tests(
            "HeldEventStoreTests", ["HeldEventStore", "StateFiles", "StoreFixtures", "TestSupport", "Admission", "Database", "Platform"]),
        tests(
            "DeadLetterStoreTests", ["DeadLetterStore", "StateFiles", "StoreFixtures", "TestSupport", "Admission", "Database", "Platform"]),
        tests(
            "SpoolTests",
            ["Spool", "StateFiles", "StoreFixtures", "TestSupport", "Admission", "ConsentGate", "Database", "Platform"]),
        tests("DatabaseTests", ["Database", "TestSupport", "Platform", "CChecksum"]),
        tests("MerkleLogTests", ["Seeded", "MerkleLog"]),
        tests("AuditTests", ["Seeded", "Audit", "MerkleLog", "Ledger", "ConsentGate", "TestSupport", "Platform"]),
        tests(
            "LedgerTests", ["Seeded", "Ledger", "TestSupport", "StateFiles", "Plans", "Admission", "ConsentGate", "Database", "Platform"]),
        tests("EventsTests", ["Seeded", "Events"]),
        tests("EncodingTests", ["Encoding"]),
        tests("SignalsTests", ["Seeded", "Signals"]),
        tests("DialectsTests", ["Dialects", "Events"], exclude: ["Samples"]),
        tests("ExpressionsTests", ["Expressions", "Events"]),
        tests("JSONSchemaTests", ["JSONSchema", "Document", "Events"]),
        tests("TrackingPlansTests", ["TrackingPlans", "Document", "Events"]),
        tests("RedactionTests", ["Models", "Seeded", "Redaction", "TestSupport", "Expressions", "Events"]),
        tests(
            "ConfigurationTests",
            [
                "Seeded", "Configuration", "Plans", "TrackingPlans", "Editing", "FormReading", "Document", "Expressions", "Events",
                "Platform", "TestSupport",
            ]),
        tests("AdmissionTests", ["Admission", "Events"]),
        tests(
            "ConsentGateTests",
            ["Models", "Seeded", "Admission", "ConsentGate", "Judging", "TestSupport", "Plans", "Editing", "Events"]),
        tests(
            "EditingTests",
            [
                "Models", "Seeded", "Admission", "Editing", "Judging", "TestSupport", "Plans", "Redaction", "Expressions", "Events",
            ]),
        tests("SamplingTests", ["Models", "Seeded", "Admission", "Sampling", "Judging", "Plans", "Editing", "Events"]),
        tests(
            "JudgingTests",
            [
                "Models", "Seeded", "Admission", "ConsentGate", "Editing", "Sampling", "Judging", "TestSupport", "Plans", "TrackingPlans",
                "Redaction", "Expressions", "Events",
            ]),
        tests(
            "DeliveryTests",
            [
                "Delivery", "Queueing", "Spool", "Database", "TestSupport", "Admission", "ConsentGate", "Judging", "Plans", "Events",
                "Platform",
            ]),
        tests(
            "ShapingTests",
            [
                "Models", "Seeded", "Shaping", "Delivery", "Queueing", "Judging", "Admission", "Plans", "Editing", "Redaction",
                "Expressions",
                "Events",
                "Platform",
            ]),
        tests("TappingTests", ["Tapping", "TestSupport", "Admission", "Plans", "Expressions", "Platform"]),
        tests("ListenerTests", ["Listener", "Ingest", "TestSupport", "Plans", "Dialects", "Events", "Platform"]),
        tests("HTTPServerTests", ["HTTPServer", "TestSupport", "Seeded", "Platform"]),
        tests("IngestTests", ["Ingest", "TestSupport", "Plans", "Events", "Platform"]),
        tests("PlatformTests", ["Platform", "TestSupport"]),
        tests("ControlTests", ["Control", "Platform"]),
        tests("PageTests", ["Page", "Control", "Platform"]),
        tests("SendingTests", ["Sending", "TestSupport", "Platform"]),
        tests("TerminalTests", ["Terminal", "Platform"]),
        tests("StartupTests", ["Startup", "StoreFixtures", "Spool", "StateFiles", "Plans", "Admission", "Platform"]),
        tests("ConsentCommandsTests", ["ConsentCommands", "Terminal"]),
        tests(
            "ReportingTests",
            ["Reporting", "Configuration", "Editing", "Document", "Ledger", "Plans", "TestSupport", "Events", "Platform"],
            exclude: ["Goldens"]),
        tests("RouteTestingTests", ["RouteTesting"]),
        tests("PlanToolsTests", ["PlanTools", "TrackingPlans", "Document", "Events"]),
        tests("LintingTests", ["Linting", "Configuration", "Plans", "Document"]),
        tests(
            "InspectCommandsTests",
            ["InspectCommands", "RouteTesting", "Terminal", "Platform", "TestSupport", "Judging", "Configuration", "Plans", "Document"]),
        // The tests compile the modules, with only the header.
        tests(
            "PluginHostTests",
            ["PluginHost", "Ingest", "Delivery", "Queueing", "TestSupport", "Admission", "Plans", "Document", "Events", "Platform"],
            exclude: ["Modules"]),
        adapterTests("AdapterTests", ["Console", "Exec", "File", "NoOp", "PluginKit", "Seeded", "TestSupport", "Events"]),
        // This is a program, so that the author of any adapter can check a built module with the contract.
        .executableTarget(
            name: "switchyard-contract",
            dependencies: [
                "PluginHost", "Ingest", "Delivery", "Queueing", "Configuration", "Plans", "Document", "HTTPSupport", "Platform",
                "CPlatform",
            ],
            path: "Tests/Contract",
            exclude: ["bad.c", "bad-source.c", "bad-source.json", "bad.json", "scripted.json"], swiftSettings: settings,
            linkerSettings: findsRuntime),
        // This is a program, because it reads the cases of the specification from a folder of the user.
        .executableTarget(name: "switchyard-conformance", dependencies: ["Expressions"], path: "Tests/Conformance", swiftSettings: strict),
        .executableTarget(
            name: "switchyard-schema-conformance", dependencies: ["JSONSchema", "Document", "Events"], path: "Tests/SchemaConformance",
            swiftSettings: strict),
        // A server that a test scripts, and an adapter behind its C table.
        .target(name: "HTTPSupport", dependencies: ["PluginKit"], path: "Tests/HTTPSupport", swiftSettings: strict),
        tests(
            "HTTPAdapterTests", ["Seeded", "HTTP", "HTTPKit", "HTTPSupport", "PluginKit", "TestSupport", "Platform"],
            exclude: ["tls-server.py"]),
        tests("StreamKitTests", ["StreamKit", "PluginKit", "Events"]),
        tests("NATSTests", ["NATS", "HTTPSupport", "TestSupport", "PluginKit"]),
        tests("ExpressionKitTests", ["ExpressionKit", "HTTPKit", "PluginKit"]),
        // What the tests of every vendor do: map events, play the faults of a server, and feed random input.
        .target(
            name: "VendorSupport", dependencies: ["HTTPSupport", "VendorKit", "PluginKit", "Seeded"],
            path: "Tests/VendorSupport", swiftSettings: strict),
        tests("VendorKitTests", ["VendorKit", "VendorSupport", "HTTPSupport", "PluginKit", "Seeded"]),
        tests("AmplitudeTests", ["Amplitude"] + vendorTests),
        tests("BrazeTests", ["Braze", "VendorSupport", "HTTPSupport", "PluginKit"]),
        tests("MixpanelTests", ["Mixpanel"] + vendorTests),
        tests("GA4Tests", ["GA4"] + vendorTests),
        tests("OTLPTests", ["OTLP"] + vendorTests),
        tests("PostHogTests", ["PostHog"] + vendorTests),
        tests("SentryTests", ["Sentry"] + vendorTests),
        tests("SegmentTests", ["Segment", "RudderStack"] + vendorTests),
        // What every vendor must do, with each of them.
        adapterTests("VendorTests", vendors + vendorTests),
        tests(
            "ErasingTests",
            [
                "Erasing", "StateFiles", "StoreFixtures", "TestSupport", "Delivery", "Queueing", "Editing", "Plans", "Events", "Database",
                "Platform",
            ]),
        tests("HoldingTests", ["Holding", "HeldEventStore", "Admission", "Plans", "Platform"]),
        tests(
            "GenerationsTests",
            ["Generations", "Router", "Delivery", "Queueing", "Judging", "Admission", "Plans", "Platform"]),
        tests(
            "RouterTests",
            [
                "Seeded",
                "Router", "Replaying", "Statements", "Withdrawal", "Holding", "Generations", "Workers", "TestSupport",
                "Ledger", "Spool", "HeldEventStore", "DeadLetterStore", "Ingest", "Delivery", "Queueing", "Admission", "ConsentGate",
                "Judging", "Plans", "TrackingPlans", "Editing", "Expressions", "Events", "Platform",
            ]),
        tests("EndToEndTests", ["Seeded", "TestSupport", "HTTPSupport", "Document", "Platform", "CSQLite"]),
    ]
        + [
            adapter("Console", ["CPlatform"]),
            adapter("Exec"),
            adapter("File", ["CPlatform", "CZlib", "CZstd", "Events"]),
            adapter("HTTP", ["ExpressionKit", "HTTPKit"]),
            adapter("NATS", on: "StreamKit", ["CNATS", "Events", "HTTPKit", "PluginKit"]),
            adapter("NoOp", hasCases: false),
            vendor("Amplitude"),
            vendor("Braze"),
            vendor("Mixpanel"),
            vendor("GA4"),
            vendor("OTLP"),
            vendor("PostHog"),
            vendor("RudderStack", ["SegmentAPI"]),
            vendor("Segment", ["SegmentAPI"]),
            vendor("Sentry"),
        ]
)

/// A program that is built only on request, with its own settings, because it is not part of the product.
func program(_ name: String, in folder: String, _ dependencies: [Target.Dependency], _ more: [SwiftSetting] = []) -> Target {
    // It may link several adapters, as `adapterTests` does.
    .executableTarget(
        name: name, dependencies: dependencies, path: "\(folder)/\(name)",
        swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("InternalImportsByDefault")] + more,
        linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "muldefs"])])
}

if extras == "checks" {
    package.targets += [
        .target(name: "COracle", path: "Fuzz/COracle", linkerSettings: [.linkedLibrary("simdjson")]),
        program(
            "fuzz", in: "Fuzz",
            [
                "Models", "Seeded", "Events", "Platform", "Dialects", "Configuration", "Plans", "Editing", "Ingest", "Listener",
                "HTTPServer", "Delivery",
                "Queueing",
                "PluginHost",
                "Exec", "ExpressionKit", "HTTPKit",
                "PluginKit", "Redaction", "Signals", "Admission", "Audit", "MerkleLog", "COracle",
                "VendorKit", "VendorSupport",
            ] + triedVendors),
        program("fuzz-expressions", in: "Fuzz", ["Seeded", "Expressions", "Events"]),
        .target(name: "Seeds", dependencies: ["Platform"], path: "Tests/Simulation/Seeds", swiftSettings: strict),
        program(
            "simulate", in: "Tests/Simulation", ["Seeds", "Queueing", "Spool", "Admission", "Plans", "Events", "Platform"], strict),
        program(
            "promise", in: "Tests/Simulation",
            [
                "Seeds", "Statements", "Withdrawal", "Holding", "Generations", "Workers", "Ingest", "HeldEventStore", "Delivery",
                "Queueing", "Ledger", "Spool", "DeadLetterStore", "StateFiles",
                "Admission", "ConsentGate", "Judging", "Configuration", "Plans", "Events", "Encoding", "Platform",
            ], strict),
    ]
}
// A trial of the benchmarks, which measures nothing, uses the build folder of the checks.
if extras == "checks" || extras == "benchmarks" {
    package.targets += [
        .target(
            name: "CDocument", path: "Benchmarks/Scanner/CDocument", cxxSettings: [.unsafeFlags(["-O3"])],
            linkerSettings: [.linkedLibrary("simdjson")]),
        .target(name: "Lines", dependencies: ["Seeded"], path: "Benchmarks/Scanner/Lines", swiftSettings: strict),
        program("scanner-bench", in: "Benchmarks/Scanner", ["Lines", "Events", "CDocument"]),
        program("scrub-bench", in: "Benchmarks/Scanner", ["Lines", "Events", "Redaction"]),
        program("plan-bench", in: "Benchmarks/Scanner", ["Lines", "Events", "Document", "JSONSchema"]),
        program("vendor-bench", in: "Benchmarks/Vendors", triedVendors + ["VendorKit", "PluginKit", "Events", "Platform"]),
    ]
}
package.cxxLanguageStandard = .cxx17

// SWITCHYARD_TESTS=LedgerTests,RouterTests keeps only these test targets, so that a change is compiled and tested sooner.
if let wanted = Context.environment["SWITCHYARD_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
}

// `make check` sets this variable, so that warnings fail the build.
if !isDependency, Context.environment["SWITCHYARD_WARNINGS"] == "errors" {
    let warnings = ["-Wall", "-Wextra", "-Werror"]
    for target in package.targets where target.type != .system {
        target.cSettings = (target.cSettings ?? []) + [.unsafeFlags(warnings)]
        target.cxxSettings = (target.cxxSettings ?? []) + [.unsafeFlags(warnings)]
        target.swiftSettings =
            (target.swiftSettings ?? []) + [
                .treatAllWarnings(as: .error), .unsafeFlags(warnings.flatMap { ["-Xcc", $0] }),
                // Such a build is made once, and nobody debugs it. Without debug information, and with each module compiled as a whole, it
                // takes a fifth less time.
                .unsafeFlags(["-gnone", "-wmo", "-num-threads", "1", "-no-emit-module-separately-wmo"], .when(configuration: .debug)),
            ]
    }
}
