// The files of the page. They are part of the program as constants that are mapped only when somebody asks for them.

internal import CPage

public struct PageFile {
    public let name: String
    public let type: String
    /// True if it is shown without a session. Such a file says nothing about the router.
    public let isOpen: Bool
    private let place: UnsafeBufferPointer<UInt8>

    public var bytes: [UInt8] { Array(place) }

    /// Returns the file of this name. The name may come from anyone.
    public static func named(_ name: String) -> PageFile? { all.first { $0.name == name } }

    /// What is shown to somebody without a session, and what is shown with one.
    public static let door = "door.html"
    public static let page = "page.html"

    private static let open: Set<String> = [door, "door.js", "page.css"]

    public static var all: [PageFile] {
        (0..<Int(cpage_count())).map { index in
            let file = cpage_file(Int32(index))
            let name = String(cString: file.name)
            return PageFile(
                name: name, type: type(of: name), isOpen: open.contains(name),
                place: UnsafeBufferPointer(start: file.bytes, count: file.count))
        }
    }

    private static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        default: "text/javascript; charset=utf-8"
        }
    }
}
