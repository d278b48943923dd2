// The folder and the index of a copy of a person's data.

import Foundation
import Glibc
import Terminal
import Testing

@testable import ConsentCommands

private final class Place {
    let path: String
    init() {
        var template = Array("/tmp/export-tests-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template))
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func mode(_ name: String) -> Int? { (try? FileManager.default.attributesOfItem(atPath: path + "/" + name))?[.posixPermissions] as? Int }
    func names(_ name: String = "") -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: path + "/" + name).sorted()) ?? [] }
}

@Suite("The folder of an export")
struct ExportFolderTests {
    private func refusal(_ path: String, state: String = "/nonexistent") -> String {
        do {
            _ = try ExportFolder(path, state: state)
            return "accepted"
        } catch {
            return "\((error as? UsageFault)?.message ?? "\(error)")"
        }
    }

    @Test("is made for its owner only, has its index last, and is gone after a failure")
    func made() throws {
        let place = Place()
        let before = umask(0)
        defer { umask(before) }
        let folder = try ExportFolder(place.path + "/copy/", state: "/nonexistent")
        try folder.append(Array("{}\n".utf8), to: .consent)
        try folder.append(Array("{\"n\":1}\n".utf8), to: .consent)
        #expect(place.names("copy") == ["consent.ndjson"])
        try folder.finish(index: "words\n")
        #expect(place.names("copy") == ["consent.ndjson", "index.txt"])
        #expect(place.mode("copy") == 0o700 && place.mode("copy/consent.ndjson") == 0o600 && place.mode("copy/index.txt") == 0o600)
        #expect(FileManager.default.contents(atPath: place.path + "/copy/consent.ndjson") == Data("{}\n{\"n\":1}\n".utf8))
        folder.remove()
        #expect(place.names() == [])
    }

    @Test("may be there already if it is empty, and then only its owner can read it")
    func empty() throws {
        let place = Place()
        #expect(mkdir(place.path + "/copy", 0o755) == 0)
        let folder = try ExportFolder(place.path + "/copy", state: "/nonexistent")
        #expect(place.mode("copy") == 0o700)
        folder.remove()
        #expect(place.names() == ["copy"])
    }

    @Test("is refused if it has something in it, is no folder, leads elsewhere, lacks a parent or is in the state folder")
    func refused() throws {
        let place = Place()
        #expect(mkdir(place.path + "/full", 0o700) == 0 && mkdir(place.path + "/full/x", 0o700) == 0)
        #expect(FileManager.default.createFile(atPath: place.path + "/file", contents: nil))
        #expect(mkdir(place.path + "/target", 0o700) == 0 && symlink("target", place.path + "/link") == 0)
        #expect(refusal(place.path + "/full").hasSuffix("/full is not empty; name a folder that is not there yet"))
        #expect(refusal(place.path + "/file").hasSuffix("/file is no folder; name a folder that is not there yet"))
        for link in ["/link", "/link/"] { #expect(refusal(place.path + link).contains("/link is no folder")) }
        #expect(refusal(place.path + "/none/copy").hasSuffix("cannot be made: No such file or directory; its parent must be there"))
        #expect(refusal("").contains("cannot be made"))
        for inside in ["/target", "/target/a", "/full/x/../../target/b"] {
            #expect(refusal(place.path + inside, state: place.path + "/target").contains("is in the state folder"), "\(inside)")
        }
        #expect(place.names("target") == [])
        #expect(refusal(place.path + "/target/../copy", state: place.path + "/target") == "accepted")
    }

    @Test("is refused if it belongs to another user", .enabled(if: geteuid() == 0))
    func foreign() throws {
        let place = Place()
        #expect(mkdir(place.path + "/copy", 0o700) == 0 && chown(place.path + "/copy", 1, 1) == 0)
        #expect(refusal(place.path + "/copy").contains("belongs to another user (uid 1)"))
    }
}

@Suite("The index of an export")
struct SubjectIndexTests {
    private func noted(_ lines: [String]) -> (files: [ExportFolder.File], text: String) {
        var index = SubjectIndex(id: "u1\u{1b}[2J\nfiles")
        let files = lines.map { index.note(Array($0.utf8)) }
        return (files, index.text(at: 0))
    }

    @Test("sorts lines by their place, and keeps what it does not know")
    func sorted() {
        let places = [
            #"{"place":"ledger","known":false}"#, #"{"place":"receipts","receipt":1}"#, #"{"place":"queue of a","by":"id","event":{}}"#,
            #"{"place":"memory of a","by":"id","event":{"place":"ledger"}}"#, #"{"place":"held events","by":"tie","event":null}"#,
            #"{"place":"dead letters","by":"id","at":"","provider":"a","event":{}}"#, #"{"place":"providers","provider":"a"}"#,
            #"{"place":"overview"}"#, #"{"place":"attic"}"#, "{}", "",
        ]
        #expect(
            noted(places).files == [
                .consent, .withdrawals, .waiting, .waiting, .held, .deadLetters, .providers, .providers, .other, .other, .other,
            ])
    }

    @Test("says for each provider what is known, and what could not be searched")
    func words() {
        let text = noted([
            #"{"place":"queue of far","by":"id","event":{}}"#, #"{"place":"queue of far","unreadable_batches":2}"#,
            #"{"place":"dead letters","by":"id","at":"","provider":"far","answer":"\"provider\":\"near\"","event":{}}"#,
            #"{"place":"overview","evidence_key":true,"set_aside":["held.sqlite.damaged-1"]}"#,
            #"{"place":"providers","provider":"far","plugin":"http","routes":["a, \"b\"","],c"],"in_flight_at_withdrawals":3,"erasures":["erasure 1 at far: confirmed"]}"#,
            #"{"place":"providers","provider":"gone","plugin":null,"routes":[],"in_flight_at_withdrawals":0,"erasures":[]}"#,
        ]).text
        for words in [
            #"id    u1\u001b[2J\nfiles"#, "1970-01-01T00:00:00.000Z by switchyard", "  far\n", "module          http",
            #"routes: a, \"b\", ],c"#,
            "waiting for it  1 event,", "given up        1 event;", "waiting for it  no event\n", "given up        no event\n",
            "3 events when consent was withdrawn", "erasure 1 at far: confirmed",
            "not in the configuration any more", "no route leads to it now", "2 batches in the queue of far cannot be read",
            "held.sqlite.damaged-1 was set aside as damaged", "is in consent.ndjson, if it was kept", "waiting-events.ndjson  2 lines:",
        ] {
            #expect(text.contains(words), "\(words) in \(text)")
        }
        #expect(noted([]).text.contains("No key is configured for evidence"))
    }
}
