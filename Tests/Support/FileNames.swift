// The names of the files in a folder of a test.

internal import Glibc

/// Returns the names of the files in the folder, sorted. The list is empty if there is no such folder.
public func fileNames(in folder: String) -> [String] {
    guard let handle = opendir(folder) else { return [] }
    defer { closedir(handle) }
    var names: [String] = []
    while let entry = readdir(handle) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(cString: $0.bindMemory(to: CChar.self).baseAddress!) }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
}
