// swift-tools-version: 6.2
import PackageDescription

// As in the main package.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// Apart from the main package, so that only fuzzing needs simdjson. The scanner's sources are linked in, not copied.
let package = Package(
    name: "fuzz",
    targets: [
        .target(name: "CSIMD"),
        .target(name: "Events", dependencies: ["CSIMD"], swiftSettings: [.swiftLanguageMode(.v6)]),
        .target(name: "CPlatform"),
        .target(name: "Platform", dependencies: ["CPlatform"], swiftSettings: strict),
        .target(name: "Expressions", dependencies: ["Events", "Platform", "CPlatform"], swiftSettings: strict),
        .target(name: "COracle", linkerSettings: [.linkedLibrary("simdjson")]),
        .executableTarget(name: "fuzz", dependencies: ["Events", "COracle"], swiftSettings: [.swiftLanguageMode(.v6)]),
        .executableTarget(name: "fuzz-expressions", dependencies: ["Expressions", "Events"], swiftSettings: [.swiftLanguageMode(.v6)]),
    ],
    cxxLanguageStandard: .cxx17
)
