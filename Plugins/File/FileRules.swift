// The settings of a file provider, parsed and checked once.

internal import Glibc
internal import PluginKit

struct FileRules: Sendable {
    enum Sync: String, SettingValue, CaseIterable {
        case never
        case rotation
        case batch
    }
    enum Compression: String, SettingValue, CaseIterable {
        case none
        case gzip
        case zstd

        /// The suffix of the names of compressed files.
        var suffix: String {
            switch self {
            case .none: ""
            case .gzip: ".gz"
            case .zstd: ".zst"
            }
        }
    }
    struct Rotation: Sendable {
        /// The largest number of bytes in a file.
        var bytes: Int?
        /// The maximum age of a file, in nanoseconds.
        var age: Int64?
        /// The number of finished files to keep.
        var keep: Int?
        /// How long a finished file is kept after its last write, in nanoseconds.
        var retention: Int64?
        var compression = Compression.none
    }

    var template: PathTemplate
    var rotation: Rotation
    var mode: mode_t
    var sync: Sync

    static let schema: KeyValuePairs<String, Schema> = [
        "path": .text(
            "the file to append to; missing folders are made, for the owner alone; %Y %m %d %H and other numeric fields of strftime give"
                + " the arrival time of the events"
        ).required,
        "utc": .flag("true: the time fields are in UTC; false: in local time", default: true),
        "mode": .text("the permissions of a new file", default: "0600", pattern: "0[0-7]{3}"),
        "sync": .choice(
            "when data is forced to the disk: never, when a file is finished, or after each batch", of: Sync.allCases.map(\.rawValue),
            default: "never"),
        "rotate": .object(
            "when to start a new file; the old one becomes PATH.<time>, such as events.ndjson.20260131T235959.123Z",
            [
                "bytes": .size("a new file begins before the file grows larger than this"),
                "age": .duration("a new file begins when the file is older than this and the next events come"),
                "keep": .integer(
                    "how many finished files to keep, counting those for earlier times in the path; all when left out", minimum: 0),
                "retention": .duration("how long finished files are kept after their last write; forever when left out"),
                "compression": .choice("how finished files are compressed", of: Compression.allCases.map(\.rawValue), default: "none"),
            ]),
    ]

    init(_ settings: Settings) throws(SettingsFault) {
        template = try PathTemplate(settings.require("path"), utc: settings.get("utc") ?? true)
        let digits = settings.get("mode") ?? "0600"
        guard let mode = mode_t(digits, radix: 8), mode <= 0o777 else { throw SettingsFault("mode is not like 0600: '\(digits)'") }
        self.mode = mode
        sync = settings.get("sync") ?? .never
        rotation = Rotation()
        guard let rotate = settings.get("rotate", as: Settings.self) else { return }
        rotation.bytes = rotate.get("bytes")
        rotation.age = rotate.get("age", as: Int.self).map { Int64(clamping: $0.multipliedReportingOverflow(by: 1_000_000).0) }
        rotation.keep = rotate.get("keep")
        rotation.retention = rotate.get("retention", as: Int.self).map { Int64(clamping: $0.multipliedReportingOverflow(by: 1_000_000).0) }
        rotation.compression = rotate.get("compression") ?? .none
        if let bytes = rotation.bytes, bytes < 1 { throw SettingsFault("rotate.bytes must be at least 1") }
        if let age = rotation.age, age < 1 { throw SettingsFault("rotate.age must be more than 0 and less than 292 years") }
        if let retention = rotation.retention, retention < 1 {
            throw SettingsFault("rotate.retention must be more than 0 and less than 292 years")
        }
        if rotation.bytes == nil, rotation.age == nil, !template.hasFields {
            throw SettingsFault("rotate needs 'bytes' or 'age', or a path with fields of the time")
        }
    }
}
