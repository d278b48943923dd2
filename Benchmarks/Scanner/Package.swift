// swift-tools-version: 6.2
import PackageDescription

// Apart from the main package, so that only measuring needs simdjson. The sources that are measured are linked in, not copied.
func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(
        name: name, dependencies: dependencies,
        swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("InternalImportsByDefault")])
}

let package = Package(
    name: "scanner-bench",
    targets: [
        .target(name: "CSIMD"),
        module("Events", ["CSIMD"]),
        .target(name: "CPlatform"),
        module("Platform", ["CPlatform"]),
        module("Expressions", ["Events", "Platform", "CPlatform"]),
        module("Redaction", ["Expressions", "Events"]),
        .target(
            name: "CDocument", cxxSettings: [.unsafeFlags(["-O3"])],
            linkerSettings: [.linkedLibrary("simdjson")]),
        .executableTarget(
            name: "scanner-bench", dependencies: ["Events", "CDocument"], swiftSettings: [.swiftLanguageMode(.v6)]),
        .executableTarget(name: "scrub-bench", dependencies: ["Events", "Redaction"], swiftSettings: [.swiftLanguageMode(.v6)]),
    ],
    cxxLanguageStandard: .cxx17
)
