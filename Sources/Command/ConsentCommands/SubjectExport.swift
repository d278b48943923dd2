// `switchyard consent subject ID --export FOLDER`: writes everything that a router holds about a person to files that can be handed over. The
// lines are those of `consent subject`, sorted into files by their places. An index says in words what is where, and which providers may have
// more.

internal import Platform
internal import Startup
internal import Terminal

enum SubjectExport {
    /// Asks for the data and writes it. After a failure nothing is left.
    static func run(_ request: LedgerRequest, _ client: LedgerClient, to path: String, state: String) throws {
        var request = request
        request.values["overview"] = ""
        let folder = try ExportFolder(path, state: state)
        var index = SubjectIndex(id: request.ids[0])
        do {
            while true {
                let answer = try client.ask(request)
                let head = answer.prefix { $0 != 0x0a }
                try write(answer.dropFirst(head.count + 1), to: folder, noting: &index)
                if head.isEmpty { break }
                request.values["after"] = String(decoding: head, as: UTF8.self)
            }
            try folder.finish(index: index.text(at: Clock.system.wall()))
        } catch {
            folder.remove()
            throw error
        }
        Console.say("\(grouped(index.lines)) lines are in \(printable(folder.path)); \(ExportFolder.index) says what they are")
    }

    /// Appends each line to the file of its place.
    private static func write(_ lines: ArraySlice<UInt8>, to folder: ExportFolder, noting index: inout SubjectIndex) throws {
        var pieces: [ExportFolder.File: [UInt8]] = [:]
        for line in lines.split(separator: 0x0a) {
            let file = index.note(line)
            pieces[file, default: []] += line
            pieces[file]?.append(0x0a)
        }
        for (file, bytes) in pieces { try folder.append(bytes, to: file) }
    }
}
