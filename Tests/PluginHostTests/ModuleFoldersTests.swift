import Foundation
import Plans
import PluginHost
import Testing

@Suite("Module folders", .timeLimit(.minutes(20)))
struct ModuleFoldersTests {
    let fixture: ModuleFixture

    init() throws { fixture = try ModuleFixture() }

    /// Builds the module table.c with that name in its description.
    private func build(_ file: String, name: String) throws {
        let description =
            "{\\\"name\\\":\\\"\(name)\\\",\\\"version\\\":\\\"1.0.0\\\",\\\"summary\\\":\\\"a table\\\",\\\"settings\\\":{\\\"type\\\":\\\"object\\\"}}"
        try fixture.build("table.c", as: file, ["-DDESCRIPTION=\"\(description)\""])
    }

    @Test(
        "a module is found by its own name, as an installation or a build names its file",
        arguments: [
            ("file.so", "file"), ("libFile.so", "file"), ("libNoOp.so", "noop"), ("dead-letter.so", "dead-letter"),
            ("libDeadLetter.so", "dead-letter"), ("libdead_letter.so", "dead_letter"), ("library.so", "library"), ("lib2.so", "lib2"),
        ])
    func names(file: String, name: String) throws {
        try build(file, name: name)
        #expect(try fixture.folders.description(of: name)?.name == name)
    }

    @Test(
        "a name that is not [a-z0-9_-]+ finds nothing", arguments: ["", "File", "../file", "file.so", "/file", "fi le", "f\u{0}le", "ﬁle"])
    func badNames(name: String) throws {
        try build("file.so", name: "file")
        #expect(try fixture.folders.description(of: name) == nil)
    }

    @Test("a name that no module has finds nothing")
    func absent() throws {
        try build("file.so", name: "file")
        #expect(try fixture.folders.description(of: "fil") == nil)
        #expect(try ModuleFolders([fixture.folder + "/none"]).description(of: "file") == nil)
        #expect(try ModuleFolders([]).description(of: "file") == nil)
    }

    @Test("a module whose description has another name is refused")
    func wrongName() throws {
        try build("file.so", name: "console")
        #expect(
            fixture.fault("file")
                == "\(fixture.folder)/file.so: was found by the name \"file\", but describes itself as \"console\"; the two must agree")
    }

    @Test("two files for one name in a folder are a fault")
    func ambiguous() throws {
        try build("file.so", name: "file")
        try build("libFile.so", name: "file")
        #expect(fixture.fault("file") == "\(fixture.folder): holds the module file twice, as file.so and libFile.so; remove one")
    }

    @Test("the first folder that has the module counts, even if its module cannot be used")
    func order() throws {
        let second = try fixture.subfolder("second")
        try build("file.so", name: "file")
        try build("second/libFile.so", name: "file")
        #expect(try fixture.folders.module("file")?.path == fixture.folder + "/file.so")
        let both = ModuleFolders([second, fixture.folder])
        #expect(try both.module("file")?.path == second + "/libFile.so")
        chmod(second + "/libFile.so", 0o777)
        #expect(fixture.fault("file", in: both)?.contains("can be written by others") == true)
    }

    @Test("the names come from the files, and nothing is loaded")
    func catalogNames() throws {
        for file in ["libNoOp.so", "file.so", "notes.txt", ".hidden.so", ".so"] { try fixture.write([], as: file) }
        #expect(fixture.folders.names == ["file", "noop"])
    }

    // MARK: The folders

    @Test("an installed executable searches ../lib/switchyard/plugins, and not its own folder")
    func installed() throws {
        let bin = try fixture.subfolder("bin")
        #expect(ModuleFolders(executable: bin + "/switchyard", environment: nil).folders == [bin + "/../lib/switchyard/plugins"])
    }

    @Test("an executable in a build folder searches its own folder too")
    func development() throws {
        try fixture.write([], as: "libConsole.so")
        let folders = ModuleFolders(executable: fixture.folder + "/switchyard", environment: nil).folders
        #expect(folders == [fixture.folder + "/../lib/switchyard/plugins", fixture.folder])
    }

    @Test("SWITCHYARD_PLUGINS names more folders; relative or missing ones are skipped with a warning")
    func environment() throws {
        let mine = try fixture.subfolder("mine")
        let folders = ModuleFolders(
            executable: "/nowhere/bin/switchyard", environment: "\(mine)::plugins\u{1B}:\(fixture.folder)/none:\(fixture.folder)")
        #expect(folders.folders == ["/nowhere/bin/../lib/switchyard/plugins", mine, fixture.folder])
        #expect(
            folders.warnings.map(\.description) == [
                "SWITCHYARD_PLUGINS: \"plugins\\u{1B}\" is left out; a folder needs its absolute path",
                "SWITCHYARD_PLUGINS: \(fixture.folder)/none cannot be read: No such file or directory",
            ])
    }

    @Test("the standard folders begin with that of an installation")
    func standard() { #expect(ModuleFolders.standard().folders.first?.hasSuffix("/../lib/switchyard/plugins") == true) }
}

@Suite("The listing of modules", .timeLimit(.minutes(20)))
struct ListingTests {
    @Test("installed modules are sorted by name, with the faults of unusable ones, and without hidden ones")
    func installed() throws {
        let fixture = try ModuleFixture()
        let second = try fixture.subfolder("second")
        try fixture.build("table.c", as: "table.so")
        try fixture.build("table.c", as: "second/table.so")
        try fixture.build("scripted.c", as: "second/libScripted.so")
        try fixture.build("table.c", as: "misnamed.so")
        try fixture.write([], as: "empty.so")
        let modules = ModuleFolders([fixture.folder, second]).installed()
        #expect(modules.map(\.name) == ["empty", "misnamed", "scripted", "table"])
        #expect(modules.map(\.path) == ["empty.so", "misnamed.so", "second/libScripted.so", "table.so"].map { fixture.folder + "/" + $0 })
        let reasons = modules.map { module in
            if case .failure(let fault) = module.state { fault.description } else { "" }
        }
        #expect(reasons[0].hasSuffix("empty.so: is empty; a module is a shared library"))
        #expect(
            reasons[1].hasSuffix(
                "misnamed.so: describes itself as \"table\" and cannot be found by that name; rename the file after the module"))
        #expect(reasons[2...] == ["", ""])
    }

    @Test(
        "a file whose name is not a module name is listed as refused, and its code never runs",
        arguments: ["Bad Name.so", "File.so", "lib table.so", "libTablé.so", "a.b.so", "esc\u{1B}.so"])
    func badFileName(file: String) throws {
        let fixture = try ModuleFixture()
        // Loading it would end this process.
        try fixture.build("table.c", as: file, ["-DENDS_THE_PROCESS"])
        let modules = fixture.folders.installed()
        try #require(modules.count == 1)
        guard case .failure(let fault) = modules[0].state else {
            Issue.record("the file was loaded")
            return
        }
        #expect(fault.description.contains(".so: is not loaded because its file name is not a module name; rename it to NAME.so"))
        #expect(!Listing.table(modules).contains("\u{1B}"))
        #expect(fixture.folders.names == [])
        #expect(try fixture.folders.module("table") == nil)
    }

    @Test("the table has a line for each usable module, and then one for each that cannot be used")
    func table() {
        var file = ModuleDescription(name: "file", version: "1.0.0", summary: "Appends events to a file", settings: .init())
        file.source = SourceDescription(name: "file", version: "1.0.0", summary: "Reads events", settings: .init())
        let log = ModuleDescription(only: SourceDescription(name: "log", version: "2", summary: "Reads a log", settings: .init()))
        let noop = ModuleDescription(name: "noop", version: "1.10.0", summary: "Swallows\tevents", settings: .init())
        let text = Listing.table([
            InstalledModule(name: "bad", path: "/p/bad.so", state: .failure(ModuleFault("/p/bad.so: has no table"))),
            InstalledModule(name: "file", path: "/p/file.so", state: .success(file)),
            InstalledModule(name: "log", path: "/p/log.so", state: .success(log)),
            InstalledModule(name: "noop", path: "/p/noop.so", state: .success(noop)),
        ])
        #expect(
            text == """
                NAME  VERSION  KIND      WHAT IT DOES              FILE
                file  1.0.0    provider  Appends events to a file  /p/file.so
                file  1.0.0    source    Reads events              /p/file.so
                log   2        source    Reads a log               /p/log.so
                noop  1.10.0   provider  Swallows\\tevents          /p/noop.so
                bad cannot be used: /p/bad.so: has no table

                """)
        #expect(Listing.table([]) == "no modules are installed\n")
    }

    @Test("the details of a module name its limits and each setting with type, default and meaning")
    func details() {
        var path = SettingsSchema.StringRules()
        path.about = "Where to write"
        path.pattern = "^/"
        var size = SettingsSchema.StringRules()
        size.format = .size
        size.fallback = "100MB"
        var keep = SettingsSchema.NumberRules()
        keep.integer = true
        keep.minimum = 1
        keep.maximum = 1000
        keep.fallback = 7
        var sync = SettingsSchema.StringRules()
        sync.oneOf = ["never", "batch"]
        sync.fallback = "never"
        var rotate = SettingsSchema.ObjectRules()
        rotate.about = "When to begin a new file"
        rotate.members = [("bytes", .string(size), false), ("keep", .number(keep), false)]
        var key = SettingsSchema.StringRules()
        key.isSecret = true
        var all = SettingsSchema.ObjectRules()
        all.members = [
            ("path", .string(path), true), ("rotate", .object(rotate), false), ("sync", .string(sync), false),
            ("tags", .list(of: .string(.init()), about: "Labels"), false), ("quiet", .boolean(.init()), false), ("key", .string(key), true),
        ]
        all.others = .number(.init())
        var about = ModuleDescription(name: "file", version: "1.0.0", summary: "Appends events to a file", settings: all)
        about.limits.events = 100
        about.limits.bytes = 5000
        about.delivery.ordered = true
        #expect(
            Listing.details(InstalledModule(name: "file", path: "/p/file.so", state: .success(about))) == """
                file 1.0.0
                Appends events to a file

                file     /p/file.so
                batches  of at most 100 events and 5000 bytes
                at once  one batch
                order    kept, unless "ordered" is false
                repeats  not recognized
                erasure  cannot erase the data of subjects

                SETTING       TYPE               DEFAULT   MEANING
                path          string like ^/     required  Where to write
                rotate        object                       When to begin a new file
                rotate.bytes  size               100MB
                rotate.keep   integer 1 to 1000  7
                sync          never|batch        never
                tags          list of string               Labels
                quiet         true|false
                key           secret             required
                *             number

                """)
    }

    @Test("the details name the alternatives of a setting of several types, and expressions")
    func detailsOfAlternatives() {
        var form = SettingsSchema.StringRules()
        form.oneOf = ["lines", "list"]
        form.fallback = "lines"
        var each = SettingsSchema.StringRules()
        each.format = .expression
        each.about = "The value"
        var build = SettingsSchema.ObjectRules()
        build.members = [("each", .string(each), false)]
        var all = SettingsSchema.ObjectRules()
        all.members = [("body", .either([.string(form), .object(build)], about: "What is sent"), false)]
        let about = ModuleDescription(name: "a", version: "1", summary: "", settings: all)
        #expect(
            Listing.details(InstalledModule(name: "a", path: "/p/a.so", state: .success(about))).hasSuffix(
                """
                SETTING    TYPE               DEFAULT  MEANING
                body       lines|list|object  lines    What is sent
                body.each  expression in CEL           The value

                """))
    }

    @Test("a mapping fits into 80 columns, and nothing of it controls a terminal")
    func mapping() {
        var about = ModuleDescription(name: "far", version: "1.0.0", summary: "", settings: .init())
        func row(_ from: String, _ to: String, _ note: String = "", rest: Bool = false) -> ModuleDescription.MappingRow {
            var row = ModuleDescription.MappingRow()
            (row.from, row.to, row.note, row.isRest) = (from, to, note, rest)
            return row
        }
        func limit(_ what: String) -> ModuleDescription.LimitRow {
            var row = ModuleDescription.LimitRow()
            (row.topic, row.most, row.what) = ("name_length", 40, what)
            return row
        }
        about.mapping = [
            row("userId", "distinct_id", "a number becomes a text"),
            row("event; of page page_view, screen screen_view, group join_group", "name"),
            row(String(repeating: "q", count: 70), "\u{1B}[31m", String(repeating: "long note ", count: 8)),
            row("everything else", "rest", rest: true),
        ]
        about.refuses = [limit("names of events of more than 40 characters, and names that have characters outside of ASCII")]
        let text = Listing.mapping(about) ?? ""
        #expect(
            text.hasPrefix(
                """
                far 1.0.0

                OF THE EVENT                      AT THE DESTINATION  NOTE
                userId                            distinct_id         a number becomes a text
                event; of page page_view, screen  name
                screen_view, group join_group
                """))
        #expect(
            text.hasSuffix(
                """
                everything else                   rest

                REFUSED
                -  names of events of more than 40 characters, and names that have characters
                   outside of ASCII

                """))
        let lines = text.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines.filter { $0.count > 80 })")
        #expect(!text.unicodeScalars.contains("\u{1B}") && text.filter { $0 == "q" }.count == 70 && !text.contains("CUT"))
        let json = Listing.mappingJSON(about) ?? ""
        #expect(json.hasPrefix(#"{"name":"far","version":"1.0.0","mapping":[{"from":"userId","to":"distinct_id","note":"a number"#))
        #expect(json.hasSuffix(#"outside of ASCII"}],"cuts":[]}"#) && json.contains(#""most":40"#) && !json.contains("\u{1B}"))
    }

    @Test("the details of a module without settings, and of one that cannot be used")
    func otherDetails() {
        let noop = ModuleDescription(name: "noop", version: "1.0.0", summary: "", settings: .init())
        #expect(Listing.mapping(noop) == nil && Listing.mappingJSON(noop) == nil)
        let fine = Listing.details(InstalledModule(name: "noop", path: "/p/noop.so", state: .success(noop)))
        #expect(fine.hasPrefix("noop 1.0.0\n\nfile     /p/noop.so\nbatches  of any size\n"))
        #expect(fine.hasSuffix("\n\nIt has no settings.\n"))
        let bad = InstalledModule(name: "bad", path: "/p/bad.so", state: .failure(ModuleFault("/p/bad.so: has no table")))
        #expect(Listing.details(bad) == "bad cannot be used: /p/bad.so: has no table\n")
    }
}
