// Time zones: fixed offsets (`+05:30`, `-02:30`), and IANA names. The file of a name (TZif, RFC 8536) is read from the system when an
// expression first needs it. A name never leads to a file outside the folders of zones.

internal import Glibc
internal import Platform

/// The cache of the zones that were read. All evaluators share it.
enum TimeZones {
    private static let known = Monitor<[[UInt8]: TimeZone?]>([:])
    private static let most = 64
    static let folders = ["/usr/share/zoneinfo/", "/usr/lib/zoneinfo/", "/etc/zoneinfo/"]

    /// Returns how far the zone is ahead of UTC at a time, in seconds. It is nil if there is no such zone.
    static func offset(of name: [UInt8], at seconds: Int64) -> Int64? {
        if let fixed = fixedOffset(name) { return fixed }
        let zone = known.withLock { zones -> TimeZone? in
            if let zone = zones[name] { return zone }
            let zone = TimeZone(name)
            // The names can come from events, so the cache must not grow without a limit.
            if zones.count >= most { zones.removeAll() }
            zones[name] = .some(zone)
            assert(zones.count <= most, "more zones are kept than may be")
            return zone
        }
        return zone?.offset(at: seconds)
    }

    private static func fixedOffset(_ name: [UInt8]) -> Int64? {
        if name.elementsEqual("UTC".utf8) || name.elementsEqual("Z".utf8) || name.isEmpty { return 0 }
        var digits = name[...]
        var sign: Int64 = 1
        if let first = digits.first, first == UInt8(ascii: "+") || first == UInt8(ascii: "-") {
            sign = first == UInt8(ascii: "-") ? -1 : 1
            digits = digits.dropFirst()
        }
        let parts = digits.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.count == 2 && $0.allSatisfy(isDigit) }) else { return nil }
        let numbers = parts.map { $0.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) } }
        guard numbers[0] < 24, numbers[1] < 60 else { return nil }
        return sign * (numbers[0] * 3600 + numbers[1] * 60)
    }
}

struct TimeZone {
    private let transitions: [Int64]
    private let offsets: [Int64]
    private let first: Int64
    private let rule: ZoneRule?

    fileprivate init?(_ name: [UInt8]) {
        let isPlain = name.allSatisfy { isNamePart($0) || "+-/".utf8.contains($0) }
        guard isPlain, name.count <= 64, name.first != UInt8(ascii: "/") else { return nil }
        for folder in TimeZones.folders {
            if let bytes = TimeZone.contents(folder + String(decoding: name, as: UTF8.self)) {
                self.init(file: bytes)
                return
            }
        }
        return nil
    }

    private static func contents(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 256 << 10)
        let count = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
        guard count > 0, count < bytes.count else { return nil }
        return Array(bytes[..<count])
    }

    /// Reads the second block of the file, whose times have 64 bits, and the rule after it.
    private init?(file: [UInt8]) {
        func number(_ at: Int, _ count: Int) -> Int64? {
            guard at >= 0, at + count <= file.count else { return nil }
            let value = file[at..<(at + count)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return count == 4 ? Int64(Int32(truncatingIfNeeded: value)) : Int64(bitPattern: value)
        }
        /// Returns isutcnt, isstdcnt, leapcnt, timecnt, typecnt and charcnt of a header.
        func counts(_ at: Int) -> [Int]? {
            guard file.count >= at + 44, file[at..<(at + 4)].elementsEqual("TZif".utf8) else { return nil }
            let counts = (0..<6).compactMap { number(at + 20 + $0 * 4, 4).map(Int.init) }
            return counts.allSatisfy { (0...100_000).contains($0) } ? counts : nil
        }
        guard let old = counts(0), file[4] >= UInt8(ascii: "2") else { return nil }
        let second = 44 + old[3] * 5 + old[4] * 6 + old[5] + old[2] * 8 + old[1] + old[0]
        guard let new = counts(second) else { return nil }
        let times = second + 44
        let kinds = times + new[3] * 8
        let types = kinds + new[3]
        let footer = types + new[4] * 6 + new[5] + new[2] * 12 + new[1] + new[0]
        guard footer <= file.count, new[4] > 0 else { return nil }
        let known = (0..<new[4]).compactMap { number(types + $0 * 6, 4) }
        guard known.count == new[4] else { return nil }
        transitions = (0..<new[3]).compactMap { number(times + $0 * 8, 8) }
        let used = (0..<new[3]).map { Int(file[kinds + $0]) }
        guard transitions.count == new[3], used.allSatisfy({ $0 < known.count }) else { return nil }
        offsets = used.map { known[$0] }
        assert(offsets.count == transitions.count, "a transition has no offset")
        first = known[0]
        let text = file[footer...].dropFirst().prefix { $0 != 0x0a }
        rule = ZoneRule(Array(text))
    }

    func offset(at seconds: Int64) -> Int64 {
        guard let last = transitions.last, let start = transitions.first else { return rule?.offset(at: seconds) ?? first }
        if seconds < start { return first }
        if seconds >= last { return rule?.offset(at: seconds) ?? offsets[offsets.count - 1] }
        var low = 0
        var high = transitions.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if transitions[middle] <= seconds { low = middle } else { high = middle }
        }
        return offsets[low]
    }
}

/// The rule for times after the last transition of a file, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
private struct ZoneRule {
    private var standard: Int64 = 0
    private var summer: Int64?
    private var begins = Day()
    private var ends = Day()

    private struct Day {
        var month: Int64 = 0
        var week: Int64 = 0
        var weekday: Int64 = 0
        /// The day of the year. It is nil if month, week and weekday give the day.
        var julian: Int64?
        var countsLeapDay = false
        var time: Int64 = 7200
    }

    init?(_ text: [UInt8]) {
        var reader = Reader(text: text)
        guard reader.name(), let offset = reader.time() else { return nil }
        standard = -offset
        if reader.isAtEnd { return }
        guard reader.name() else { return nil }
        var ahead = standard + 3600
        if reader.peek() != UInt8(ascii: ",") {
            guard let offset = reader.time() else { return nil }
            ahead = -offset
        }
        guard reader.take(","), let begins = reader.day(), reader.take(","), let ends = reader.day(), reader.isAtEnd else { return nil }
        summer = ahead
        self.begins = begins
        self.ends = ends
    }

    func offset(at seconds: Int64) -> Int64 {
        guard let summer else { return standard }
        let year = Civil(seconds + standard).year
        let begin = moment(begins, year) - standard
        let end = moment(ends, year) - summer
        let isSummer = begin < end ? seconds >= begin && seconds < end : seconds >= begin || seconds < end
        return isSummer ? summer : standard
    }

    /// Returns the moment of a rule's day in a year, in seconds of the local time since 1970.
    private func moment(_ day: Day, _ year: Int64) -> Int64 {
        if let julian = day.julian {
            let isLeap = Civil.days(inMonth: 2, year: year) == 29
            let index = day.countsLeapDay ? julian : julian - 1 + (isLeap && julian >= 60 ? 1 : 0)
            return (Civil.days(year: year, month: 1, day: 1) + index) * 86400 + day.time
        }
        let first = Civil.days(year: year, month: day.month, day: 1)
        let weekday = ((first + 4) % 7 + 7) % 7
        var date = (day.weekday - weekday + 7) % 7 + 1 + (day.week - 1) * 7
        assert((0..<7).contains(weekday) && date >= 1, "a week has no such day")
        while date > Civil.days(inMonth: day.month, year: year) { date -= 7 }
        return (first + date - 1) * 86400 + day.time
    }

    private struct Reader {
        let text: [UInt8]
        var at = 0
        var isAtEnd: Bool { at == text.count }

        func peek() -> UInt8 { at < text.count ? text[at] : 0 }

        mutating func take(_ character: UnicodeScalar) -> Bool {
            guard peek() == UInt8(ascii: character) else { return false }
            at += 1
            return true
        }

        mutating func name() -> Bool {
            let start = at
            if take("<") {
                while at < text.count, peek() != UInt8(ascii: ">") { at += 1 }
                return take(">")
            }
            while isNameStart(peek()) { at += 1 }
            return at > start
        }

        mutating func number() -> Int64? {
            let start = at
            var value: Int64 = 0
            while isDigit(peek()), at - start < 4 {
                value = value * 10 + Int64(peek() - 0x30)
                at += 1
            }
            return at > start ? value : nil
        }

        mutating func time() -> Int64? {
            let sign: Int64 = take("-") ? -1 : 1
            _ = take("+")
            guard let hours = number() else { return nil }
            var seconds = hours * 3600
            if take(":") {
                guard let minutes = number() else { return nil }
                seconds += minutes * 60
                if take(":") {
                    guard let rest = number() else { return nil }
                    seconds += rest
                }
            }
            return sign * seconds
        }

        mutating func day() -> Day? {
            var day = Day()
            if take("M") {
                guard let month = number(), take("."), let week = number(), take("."), let weekday = number(), (1...12).contains(month),
                    (1...5).contains(week), weekday < 7
                else { return nil }
                day.month = month
                day.week = week
                day.weekday = weekday
            } else {
                day.countsLeapDay = !take("J")
                guard let julian = number() else { return nil }
                day.julian = julian
            }
            if take("/") {
                guard let time = time() else { return nil }
                day.time = time
            }
            return day
        }
    }
}
