// swift-tools-version: 6.2
import PackageDescription

// Bugs planted on purpose, in a module that is loaded at run time as an adapter is. The sanitizers must find each one when they
// run with the very options that the suites run with; a sanitizer that stays silent here is switched off.
let package = Package(
    name: "planted",
    products: [.library(name: "Faulty", type: .dynamic, targets: ["Faulty"])],
    targets: [
        .target(name: "Faulty"),
        .testTarget(name: "PlantedTests"),
    ]
)
