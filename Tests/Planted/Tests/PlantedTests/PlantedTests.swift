import Glibc
import Testing

// Each test passes, so a run fails only if a sanitizer makes it fail.

/// Calls a function of the module that is in the folder of the test's own executable.
private func call(_ name: String) throws -> Int {
    var path = [CChar](repeating: 0, count: 4096)
    let length = try #require(readlink("/proc/self/exe", &path, path.count - 1) as Int?)
    let executable = String(decoding: path[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
    let folder = executable[..<executable.lastIndex(of: "/")!]
    let handle = try #require(dlopen("\(folder)/libFaulty.so", RTLD_NOW | RTLD_LOCAL), "\(String(cString: dlerror()))")
    let symbol = try #require(dlsym(handle, name))
    return unsafeBitCast(symbol, to: (@convention(c) () -> Int).self)()
}

@Test("a race in a loaded module") func race() throws {
    #expect(try call("planted_race") > 0)
}

@Test("a read of freed memory in a loaded module") func useAfterFree() throws {
    _ = try call("planted_use_after_free")
}

@Test("a memory leak in a loaded module") func leak() throws {
    #expect(try call("planted_leak") == 64)
}
