// The text of a file of places: a title, a line for each file, and an end. It is read exactly as it was written, or the damage is noticed.
// Every line has its own checksum, and the end has the number of lines and a checksum of all of them. This reveals changed bytes, missing
// lines and a missing end. Version 1 had no checksums, so its places are used unchecked.

internal import Platform

enum PlacesFormat {
    private static let name = "switchyard places"
    static let version = 2

    enum Found: Equatable {
        case whole([FilePlace])
        /// The places of a file of version 1.
        case old([FilePlace])
        /// The valid places, and the number of lost ones if it is known.
        case damaged([FilePlace], lost: Int?)
        case newer(Int)
    }

    static func text(_ places: some Collection<FilePlace>) -> [UInt8] {
        var text = sealed("\(name) \(version)")
        for place in places {
            let mark = place.mark
            text += sealed(
                "\(mark.device) \(mark.number) \(mark.length) \(mark.hash) \(mark.end) \(mark.tailLength) \(mark.tail) \(place.offset)"
                    + " \(place.faults)")
        }
        text += sealed("end \(places.count) \(hexadecimal(fnv1a(text)))")
        assert(read(text) == .whole(Array(places)), "the places cannot be read back")
        return text
    }

    static func read(_ bytes: [UInt8]) -> Found {
        var lines = bytes.split(separator: 0x0a, omittingEmptySubsequences: false)
        // There is nothing after the last newline.
        let isEnded = lines.popLast()?.isEmpty ?? false
        guard let first = lines.first else { return .damaged([], lost: nil) }
        if first.elementsEqual("\(name) 1".utf8) { return isEnded ? readOld(lines.dropFirst()) : .damaged([], lost: nil) }
        let title = opened(first).flatMap { $0.starts(with: name.utf8) ? words($0).last.flatMap { Int($0) } : nil }
        if let title, title > version { return .newer(title) }
        let places = lines.dropFirst().compactMap { opened($0).flatMap(place) }
        let end = lines.last.flatMap(opened).map(words)
        let count = end.flatMap { $0.count == 3 && $0[0] == "end" ? Int($0[1]) : nil }
        let body = bytes[..<(lines.last?.startIndex ?? 0)]
        let isWhole = isEnded && title == version && count == places.count && end?.last == hexadecimal(fnv1a(body))[...]
        return isWhole ? .whole(places) : .damaged(places, lost: count.map { max(0, $0 - places.count) })
    }

    private static func readOld(_ lines: ArraySlice<ArraySlice<UInt8>>) -> Found {
        var places: [FilePlace] = []
        for line in lines {
            let words = words(line)
            guard words.count == 6, let device = UInt64(words[0]), let number = UInt64(words[1]), let length = Int(words[2]),
                let hash = UInt64(words[3]), let offset = Int(words[4]), let faults = Int(words[5]), faults >= 0
            else { return .damaged([], lost: nil) }
            let mark = FileMark(device: device, number: number, length: length, hash: hash, end: offset, tailLength: 0, tail: fnv1a([]))
            guard mark.isSound else { return .damaged([], lost: nil) }
            places.append(FilePlace(mark: mark, offset: offset, faults: faults))
        }
        return .old(places)
    }

    private static func place(_ line: ArraySlice<UInt8>) -> FilePlace? {
        let words = words(line)
        guard words.count == 9, let device = UInt64(words[0]), let number = UInt64(words[1]), let length = Int(words[2]),
            let hash = UInt64(words[3]), let end = Int(words[4]), let tailLength = Int(words[5]), let tail = UInt64(words[6]),
            let offset = Int(words[7]), let faults = Int(words[8]), offset >= end, faults >= 0
        else { return nil }
        let mark = FileMark(device: device, number: number, length: length, hash: hash, end: end, tailLength: tailLength, tail: tail)
        return mark.isSound ? FilePlace(mark: mark, offset: offset, faults: faults) : nil
    }

    private static func words(_ line: ArraySlice<UInt8>) -> [Substring] {
        String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
    }

    // MARK: - Checksums

    /// Returns the line with its checksum and a newline.
    static func sealed(_ line: String) -> [UInt8] { Array("\(line) \(hexadecimal(fnv1a(line.utf8)))\n".utf8) }

    /// Returns the line without its checksum, or nil if the checksum is wrong.
    private static func opened(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let space = line.lastIndex(of: 0x20) else { return nil }
        return line[(space + 1)...].elementsEqual(hexadecimal(fnv1a(line[..<space])).utf8) ? line[..<space] : nil
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
