// Tests the file of places: it is read as it was written, and damage is noticed.

import Glibc
import Platform
import Testing

@testable import Ingest

@Suite("The places of followed files")
struct FilePlacesTests {
    private let places = (1...4).map { number in
        let number = UInt64(number)
        return FilePlace(
            mark: FileMark(
                device: 64_768 + number, number: number << 40, length: 1024, hash: fnv1a([UInt8(number)]), end: 9_000_000, tailLength: 1024,
                tail: fnv1a([UInt8(number + 100)])),
            offset: 9_000_000 + Int(number), faults: Int(number))
    }

    /// Expects that a damaged text yields only valid places and the report of the damage, and never a wrong place.
    private func check(_ bytes: [UInt8], _ what: String) {
        guard case .damaged(let found, let lost) = PlacesFormat.read(bytes) else {
            Issue.record("\(what): the damage was not noticed: \(String(decoding: bytes, as: UTF8.self))")
            return
        }
        #expect(found.allSatisfy(places.contains), "\(what)")
        #expect(lost == nil || lost == max(0, places.count - found.count), "\(what)")
    }

    @Test("what was written is read")
    func whole() {
        #expect(PlacesFormat.read(PlacesFormat.text(places)) == .whole(places))
        #expect(PlacesFormat.read(PlacesFormat.text([])) == .whole([]))
    }

    @Test("a changed byte is noticed at any place and with any value")
    func changed() {
        let text = PlacesFormat.text(places)
        for at in text.indices {
            for bit in 0..<8 {
                var bytes = text
                bytes[at] ^= 1 << UInt8(bit)
                check(bytes, "bit \(bit) of byte \(at)")
            }
            for byte in [0, 0x0a, 0x20, UInt8(ascii: "1")] where text[at] != byte {
                var bytes = text
                bytes[at] = byte
                check(bytes, "byte \(at) as \(byte)")
            }
        }
    }

    @Test("a cut end, a missing line, swapped lines and bytes after the end are noticed")
    func cut() {
        let text = PlacesFormat.text(places)
        for length in text.indices { check(Array(text[..<length]), "cut to \(length)") }
        check(text + [0], "appended")
        check(text + text, "twice")
        let lines = text.split(separator: 0x0a)
        for at in lines.indices {
            var fewer = lines
            fewer.remove(at: at)
            check(Array(fewer.joined(separator: [0x0a])) + [0x0a], "without line \(at)")
            guard at > 0 else { continue }
            var turned = lines
            turned.swapAt(at - 1, at)
            check(Array(turned.joined(separator: [0x0a])) + [0x0a], "lines \(at - 1) and \(at) changed")
        }
    }

    @Test("a damaged file is reported and set aside, its valid places are used, and other files are read from the beginning")
    func setAside() throws {
        let fixture = FollowerFixture()
        fixture.add("1\n")
        fixture.add("2\n", to: "b.ndjson")
        fixture.step()
        fixture.follower.finish()
        let text = try #require(contents(fixture.path("places")))
        let lines = text.split(separator: "\n")
        // This is the line of one file. Its checksum is changed.
        let line = lines[1]
        let wrong = line.dropLast() + (line.last == "0" ? "1" : "0")
        let damaged = text.replacingLine(String(line), with: String(wrong))
        fixture.rewrite(Array(damaged.utf8), "places")
        fixture.restart()
        fixture.step()
        #expect(fixture.sink.taken.count == 3)
        let path = fixture.path("places")
        #expect(
            fixture.reported == [
                "\(path): is damaged: 1 of 2 places lost, and files without a place are read from their beginning;"
                    + " it is kept as \(path).damaged-7"
            ])
        #expect(contents(path + ".damaged-7") == damaged)
        fixture.follower.finish()
        fixture.restart()
        fixture.step()
        #expect(fixture.sink.taken.count == 3 && fixture.reported.count == 1)
    }

    @Test("a file of a newer version is refused and left untouched")
    func newer() {
        let fixture = FollowerFixture()
        let text = String(decoding: PlacesFormat.sealed("switchyard places 3"), as: UTF8.self) + "what nobody knows yet\n"
        fixture.rewrite(Array(text.utf8), "places")
        var words = ""
        do throws(FilePlacesFault) { _ = try fixture.make(fixture.path("places")) } catch { words = error.message }
        #expect(
            words == "\(fixture.path("places")): is of version 3, this program knows 2; run the newer program, or move the file away,"
                + " and files are read from their beginning")
        #expect(contents(fixture.path("places")) == text && fixture.names == ["places"])
    }

    @Test("a file that cannot be read is refused, and not treated as an empty one")
    func unreadable() {
        let fixture = FollowerFixture()
        mkdir(fixture.path("places"), 0o700)
        defer { rmdir(fixture.path("places")) }
        var words = ""
        do throws(FilePlacesFault) { _ = try fixture.make(fixture.path("places")) } catch { words = error.message }
        #expect(words == "\(fixture.path("places")): the places of followed files cannot be read: Is a directory")
    }

    @Test("the places of version 1 are used unchecked, which is reported, and are written with checksums from then on")
    func old() throws {
        let fixture = FollowerFixture()
        fixture.add("1\n")
        fixture.add("2\n", to: "b.ndjson")
        let number = open(fixture.path("a.ndjson"), O_RDONLY)
        let mark = try FileMark(number, upTo: 2)
        close(number)
        fixture.rewrite(Array("switchyard places 1\n\(mark.device) \(mark.number) 2 \(mark.hash) 2 0\n".utf8), "places")
        fixture.step()
        #expect(fixture.sink.taken == ["2"])
        #expect(fixture.reported == ["\(fixture.path("places")): is of version 1, without checksums; its places are taken as they are"])
        fixture.follower.finish()
        #expect(contents(fixture.path("places"))?.hasPrefix("switchyard places 2 ") == true)
        fixture.restart()
        fixture.step()
        #expect(fixture.sink.taken == ["2"] && fixture.reported.count == 1)
    }

    private func contents(_ path: String) -> String? {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        defer { close(number) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(number, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

extension String {
    fileprivate func replacingLine(_ line: String, with other: String) -> String {
        split(separator: "\n", omittingEmptySubsequences: false).map { $0 == line[...] ? other[...] : $0 }.joined(separator: "\n")
    }
}
