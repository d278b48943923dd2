// swift-tools-version: 6.2
import PackageDescription

// Apart from the main package, so that only measuring needs simdjson. The scanner's sources are linked in, not copied.
let package = Package(
    name: "scanner-bench",
    targets: [
        .target(name: "CSIMD"),
        .target(name: "Events", dependencies: ["CSIMD"], swiftSettings: [.swiftLanguageMode(.v6)]),
        .target(
            name: "CDocument", cxxSettings: [.unsafeFlags(["-O3"])],
            linkerSettings: [.linkedLibrary("simdjson")]),
        .executableTarget(
            name: "scanner-bench", dependencies: ["Events", "CDocument"], swiftSettings: [.swiftLanguageMode(.v6)]),
    ],
    cxxLanguageStandard: .cxx17
)
