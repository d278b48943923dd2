// The modules in C that PluginHostTests has, compiled into the folder `modules` of a test.

import Foundation
import Glibc
import TestSupport
import Testing

extension TestRouter {
    /// The variables with which a router finds the compiled modules.
    var moduleFolder: [String: String] { ["SWITCHYARD_PLUGINS": path("modules")] }

    /// Compiles a module. A module of that name is replaced in one step, so that a router never sees a part of it.
    func compile(_ name: String, _ options: [String] = []) throws {
        try FileManager.default.createDirectory(atPath: path("modules"), withIntermediateDirectories: true)
        let file = path("modules/\(name).so")
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let source = "\(Project.root)/Tests/PluginHostTests/Modules/\(name).c"
        compiler.arguments = ["cc", "-shared", "-fPIC", "-pthread", "-I", Project.header, source, "-o", file + ".new"] + options
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
        rename(file + ".new", file)
    }
}
