// The folder of the project, for tests that read or compile its files.

public enum Project {
    public static let root = String(#filePath.dropLast("/Tests/Support/Project.swift".count))
    /// The folder of the header that a module includes.
    public static let header = root + "/Sources/Kits/CSwitchyardPlugin/include"
}
