// The shared library of a module: a private, checked copy of its file. The dynamic linker maps this copy. Nothing changes the copy after
// the check: if the file is overwritten or truncated while the router runs, only the next load is affected.
//
// The copy is a sealed memfd, loaded by its descriptor, so $ORIGIN in its own run path does not work. The libraries that it needs come
// from those that the router has loaded already, from the executable's run path and from the system. The mappings of the process show it
// as `/memfd:libMine.so (deleted)`. The linker's own list has a path by which debuggers and sanitizers find it while the process lives.

internal import CPlatform
internal import Glibc
internal import Plans
internal import Platform

final class Library: Sendable {
    /// The maximum size of a library. No module is that large, even with debug information.
    private static let most: UInt64 = 1 << 29

    /// The path of the file that was copied.
    let path: String
    private let copy: Descriptor

    /// Copies the file and checks the copy.
    init(copying file: borrowing TrustedFile) throws(ModuleFault) {
        path = file.path
        let name = file.path.split(separator: "/").last.map { String(decoding: $0.utf8.prefix(200), as: UTF8.self) } ?? "module"
        let number = cplatform_sealed_copy(file.number, name, Library.most)
        guard number >= 0 else {
            let reason = errno == EFBIG ? "it has more than \(Library.most) bytes" : "\(SystemFault()) (memfd_create)"
            throw ModuleFault("\(file.path): cannot be copied into memory: \(reason)")
        }
        copy = Descriptor(owning: number)
        guard file.isUnchanged else { throw ModuleFault("\(file.path): was changed while it was read; try again when it is whole") }
        try judge()
    }

    /// Takes over a copy that another process has made and checked.
    init(path: String, judged number: Int32) {
        self.path = path
        copy = Descriptor(owning: number)
    }

    /// The descriptor of the copy. It can be passed to another process.
    var number: Int32 { copy.number }

    private func judge() throws(ModuleFault) {
        var status = stat()
        guard fstat(copy.number, &status) == 0 else { throw ModuleFault("\(path): cannot be examined: \(SystemFault())") }
        let size = Int(status.st_size)
        let memory = size > 0 ? mmap(nil, size, PROT_READ, MAP_PRIVATE, copy.number, 0) : nil
        guard memory != MAP_FAILED else { throw ModuleFault("\(path): cannot be read: \(SystemFault())") }
        defer { if let memory { munmap(memory, size) } }
        if let fault = LibraryImage.fault(in: UnsafeRawBufferPointer(start: memory, count: size)) { throw ModuleFault("\(path): \(fault)") }
    }

    // MARK: - Loading

    /// Loads the library, which runs its constructors. It is never unloaded, and this object must live as long as the process. The linker
    /// remembers libraries by path: if the descriptor's number were reused for another module, the linker would return this library
    /// instead.
    func load() throws(ModuleFault) -> UnsafeMutableRawPointer {
        let shownPath = try pathOfDescriptor()
        guard let library = dlopen(shownPath, RTLD_NOW | RTLD_LOCAL) else {
            throw ModuleFault("\(path): \(Library.linkerError(shownPath))")
        }
        return library
    }

    /// Returns a path that leads only to the copy as long as the descriptor is open. The path contains the process id, so that a debugger
    /// can use it too.
    func pathOfDescriptor() throws(ModuleFault) -> String {
        let process = readLink("/proc/self") ?? "self"
        let result = "/proc/\(process)/fd/\(copy.number)"
        var (shown, own) = (stat(), stat())
        guard stat(result, &shown) == 0, fstat(copy.number, &own) == 0, shown.st_dev == own.st_dev, shown.st_ino == own.st_ino else {
            throw ModuleFault("\(path): cannot be loaded: \(result) does not lead to it; mount the proc file system on /proc")
        }
        return result
    }

    private static func linkerError(_ shownPath: String) -> String {
        guard let words = dlerror() else { return "cannot be loaded: the dynamic linker gave no reason" }
        let text = String(cString: words)
        let prefix = shownPath + ": "
        let reason = ForeignText.harmless(text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text)
        // The linker gives the same reason for a library that was built for another machine.
        let missing = ": cannot open shared object file: No such file or directory"
        guard reason.hasSuffix(missing) else { return "cannot be loaded: \(reason)" }
        return "cannot be loaded: it needs \(reason.dropLast(missing.count)), which is not installed where the linker looks, or not for "
            + "\(LibraryImage.name(of: LibraryImage.ownMachine)); install it, or name its folder in LD_LIBRARY_PATH"
    }
}
