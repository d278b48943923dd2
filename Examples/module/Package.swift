// swift-tools-version: 6.2
import PackageDescription

// The repository of Switchyard, and the version whose kits the module is built with.
let switchyard = Context.environment["SWITCHYARD_REPOSITORY"] ?? "https://switchyard.invalid/switchyard.git"

let package = Package(
    name: "acme",
    products: [
        // Switchyard loads this library.
        .library(name: "Acme", type: .dynamic, targets: ["Acme"])
    ],
    dependencies: [.package(url: switchyard, .upToNextMinor(from: "0.1.0"))],
    targets: [
        .target(name: "Acme", dependencies: [.product(name: "VendorKit", package: "switchyard")]),
        .testTarget(name: "AcmeTests", dependencies: ["Acme", .product(name: "VendorSupport", package: "switchyard")]),
    ]
)
