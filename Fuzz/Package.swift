// swift-tools-version: 6.2
import PackageDescription

// Apart from the main package, so that only fuzzing needs simdjson. The scanner's sources are linked in, not copied.
let package = Package(
    name: "fuzz",
    targets: [
        .target(name: "CSIMD"),
        .target(name: "Events", dependencies: ["CSIMD"], swiftSettings: [.swiftLanguageMode(.v6)]),
        .target(name: "COracle", linkerSettings: [.linkedLibrary("simdjson")]),
        .executableTarget(name: "fuzz", dependencies: ["Events", "COracle"], swiftSettings: [.swiftLanguageMode(.v6)]),
    ],
    cxxLanguageStandard: .cxx17
)
