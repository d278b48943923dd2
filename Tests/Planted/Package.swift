// swift-tools-version: 6.2
import PackageDescription

// Bugs that are planted in a module, which is loaded at run time like an adapter. The sanitizers must find each bug when they run with the
// same options as the suites. A sanitizer that finds nothing here is switched off.
let package = Package(
    name: "planted",
    products: [.library(name: "Faulty", type: .dynamic, targets: ["Faulty"])],
    targets: [
        .target(name: "Faulty"),
        .testTarget(name: "PlantedTests"),
    ]
)
