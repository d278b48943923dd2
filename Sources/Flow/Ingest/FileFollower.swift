// Follows all files of a source, step by step: finds them, reads what was added, hands it on, and removes or lets go of what is done.
// It never waits: each step says when the next is due at the latest. One thread at a time takes the steps; answers come from any.
// It never lets go of a file, whatever became of its name, before all of it was answered.

internal import CPlatform
internal import Events
internal import Glibc
internal import Plans
internal import Platform

final class FileFollower {
    /// What a source needs of its surroundings.
    struct Dependencies: Sendable {
        var source: Int
        var lineLimit: Int
        /// Where places are kept; nil: nowhere.
        var places: String?
        var clock: Clock
        var say: @Sendable (String) -> Void
        /// Told the bytes of a line that was over the limit.
        var overlong: @Sendable (Int) -> Void
    }

    /// How many files are open at once.
    static let mostOpen = 512
    /// How long a full router is left alone.
    static let pause = Duration.milliseconds(100)
    /// How often places are written at most.
    static let keeping = Duration.milliseconds(200)

    private struct Answers {
        var list: [(file: Int, submission: Submission)] = []
    }

    private let name: String
    private let plan: FileSourcePlan
    private let around: Dependencies
    private let sink: any EventSink
    /// Called when an answer has come.
    private let wake: @Sendable () -> Void
    private let answers = Monitor(Answers())
    private var places: FilePlaces
    private var files: [FollowedFile] = []
    /// Those that were closed to make room, and those that are not read, as they were then.
    private var resting: [FileKey: FollowedFile.Sight] = [:]
    private var made = 0
    private var nextLook = Instant(nanoseconds: .min)
    private var nextKeep = Instant(nanoseconds: .min)
    private var isClosing = false
    /// What was said already, so that it is said once.
    private var told: Set<String> = []

    init(
        _ name: String, _ plan: FileSourcePlan, _ around: Dependencies, sink: any EventSink, wake: @escaping @Sendable () -> Void = {}
    ) throws(FilePlacesFault) {
        self.name = name
        self.plan = plan
        self.around = around
        self.sink = sink
        self.wake = wake
        places = try FilePlaces(around.places, wall: around.clock.wall, say: around.say)
    }

    /// `names`: files may have come or gone. When the next step is due at the latest.
    func step(names: Bool, poll: Duration? = nil) -> Instant {
        let now = around.clock.now()
        takeAnswers(now)
        if names || now >= nextLook {
            find(now)
            nextLook = now + (poll ?? plan.poll)
        }
        var due = nextLook
        for file in files { due = min(due, work(on: file, now)) }
        files.removeAll(where: isDone)
        return min(due, keep(now))
    }

    /// Takes what has been answered so far and writes the places, when no more is read.
    func finish() {
        isClosing = true
        takeAnswers(around.clock.now())
        nextKeep = Instant(nanoseconds: .min)
        _ = keep(around.clock.now())
    }

    private func tell(_ text: String) {
        if told.count > 1000 { told.removeAll() }
        if told.insert(text).inserted { around.say("\(name): \(text)") }
    }

    // MARK: - Finding

    private func find(_ now: Instant) {
        var named: Set<FileKey> = []
        let open = Dictionary(uniqueKeysWithValues: files.map { ($0.key, $0) })
        for pattern in plan.paths {
            for path in matches(pattern) {
                var status = stat()
                // What is removed must be the file itself.
                guard (plan.drains ? lstat(path, &status) : stat(path, &status)) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
                let key = FileKey(status)
                guard named.insert(key).inserted else { continue }
                if let file = open[key] {
                    file.path = path
                    file.nameless = nil
                } else if resting[key] != FollowedFile.Sight(status) {
                    follow(path, key, now)
                }
            }
        }
        for file in files where !named.contains(file.key) && file.nameless == nil { file.nameless = now }
        for key in resting.keys where !named.contains(key) { resting[key] = nil }
        places.prune(keeping: named.union(open.keys))
    }

    private func follow(_ path: String, _ key: FileKey, _ now: Instant) {
        guard mayFollow(path, key), files.count < FileFollower.mostOpen || closeLongestIdle(now) else { return }
        let number = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (plan.drains ? O_NOFOLLOW : 0))
        guard number >= 0 else {
            // One that is gone by now is none.
            if errno != ENOENT { tell("\(printable(path)): cannot be opened: \(SystemFault())") }
            return
        }
        let descriptor = Descriptor(owning: number)
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, FileKey(status) == key else { return }
        made += 1
        resting[key] = nil
        do throws(SystemFault) {
            files.append(try FollowedFile(descriptor, key, number: made, path: path, from: places[key], now: now))
        } catch {
            tell("\(printable(path)): cannot be read: \(error)")
        }
    }

    /// Whether no other user has laid a link on the way to it.
    private func mayFollow(_ path: String, _ key: FileKey) -> Bool {
        do throws(ForeignEntry) {
            let way = try SharedFolder(path, writes: false)
            return !way.isOnTheWay || way.found.map { $0 == (key.device, key.number) } ?? false
        } catch {
            tell("\(printable(error.path)): \(error.words)")
            return false
        }
    }

    private func closeLongestIdle(_ now: Instant) -> Bool {
        let idle = files.indices.filter { index in
            let file = files[index]
            return file.canRest && now - file.changed >= plan.idle && file.nameless == nil && (!plan.drains || file.stays || !file.isTaken)
        }
        guard let index = idle.min(by: { files[$0].changed < files[$1].changed }) else { return false }
        resting[files[index].key] = files[index].sight
        files.remove(at: index)
        return true
    }

    private func matches(_ pattern: String) -> [String] {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob(pattern, 0, nil, &found) == 0 else { return [] }
        return (0..<Int(found.gl_pathc)).compactMap { found.gl_pathv[$0].map { String(cString: $0) } }
    }

    // MARK: - Reading

    /// When it is to be looked at again.
    private func work(on file: FollowedFile, _ now: Instant) -> Instant {
        let never = Instant(nanoseconds: .max)
        guard !isClosing, !file.isPending else { return never }
        guard now >= file.notBefore else { return file.notBefore }
        do throws(SystemFault) {
            if try file.look(now) {
                around.say("\(name): \(printable(file.path)): was cut off or written anew, and is read from its beginning")
            }
        } catch {
            tell("\(printable(file.path)): cannot be read: \(error)")
            return never
        }
        guard read(file, now) else { return never }
        // A place is known from the first look on, also of a file of which nothing was taken yet.
        places[file.key] = file.place
        guard !file.isPending else { return never }
        guard now >= file.notBefore else { return file.notBefore }
        guard plan.drains && !file.stays || file.nameless != nil else { return never }
        let due = max(file.changed, file.nameless ?? file.changed) + plan.idle
        guard now >= due else { return due }
        guard file.isTaken else { return now + plan.idle }
        if plan.drains, file.nameless == nil { remove(file, now) }
        return file.notBefore > now ? file.notBefore : now + plan.idle
    }

    /// What counts as an end of its last line: nothing while somebody may still write it; when it has lost its name, the end of the file.
    private func ending(of file: FollowedFile, _ now: Instant) -> FollowedFile.Ending {
        guard now - file.changed >= plan.idle, plan.drains || file.nameless != nil, !isWritten(file) else { return .never }
        return file.nameless == nil ? .whole : .always
    }

    /// Whether somebody has it open for writing, as far as the system tells.
    private func isWritten(_ file: FollowedFile) -> Bool {
        let held = cplatform_hold_writers(file.descriptor.number)
        if held == 1 { cplatform_release_writers(file.descriptor.number) }
        return held == 0
    }

    /// False: it is not to be read at all.
    private func read(_ file: FollowedFile, _ now: Instant) -> Bool {
        let ending = ending(of: file, now)
        while true {
            var buffer = ByteBuffer()
            let piece = file.read(&buffer, lineLimit: around.lineLimit, ending: ending) { bytes in
                around.overlong(bytes)
                around.say("\(name): \(printable(file.path)): a line of \(grouped(bytes)) bytes is over the limit, and is passed over")
            }
            switch piece {
            case .again: continue
            case .nothing: return true
            case .torn(let bytes):
                tell(
                    "\(printable(file.path)): stays, since its last line, of \(grouped(bytes)) bytes, has not ended and is no whole event;"
                        + " it is taken in when the rest of it has come")
                return true
            case .compressed(let form):
                refuse(file, form)
                return false
            case .failed(let fault):
                tell("\(printable(file.path)): cannot be read: \(fault)")
                file.notBefore = now + plan.idle
                return true
            case .lines:
                let number = file.number
                let isTaken = sink.submit(buffer, source: around.source, key: 0) { [answers, wake] submission in
                    answers.withLock { $0.list.append((number, submission)) }
                    wake()
                }
                if !isTaken {
                    file.giveBack()
                    file.notBefore = now + FileFollower.pause
                }
                return true
            }
        }
    }

    /// What is compressed has no lines. It is left as it is, and looked at again when it has changed.
    private func refuse(_ file: FollowedFile, _ form: FileBeginning.Compression) {
        let path = printable(file.path)
        tell(
            "\(path): is compressed with \(form.name), and is not read; \(form.command) '\(path)' > NAME, with a NAME that 'paths' covers,"
                + " brings in what it holds")
        resting[file.key] = file.sight
        places[file.key] = nil
        removed.insert(file.number)
    }

    private func takeAnswers(_ now: Instant) {
        let list = answers.withLock { answers in
            defer { answers.list.removeAll() }
            return answers.list
        }
        for (number, submission) in list {
            guard let file = files.first(where: { $0.number == number }) else { continue }
            switch submission {
            case .stored(let invalid):
                file.settle(faults: invalid.count)
                places[file.key] = file.place
            case .overloaded(let seconds):
                file.giveBack()
                file.notBefore = now + .seconds(seconds)
            case .closing:
                file.giveBack()
                isClosing = true
            }
        }
    }

    // MARK: - What is done

    /// A file that all of was taken in goes, if nobody writes it.
    private func remove(_ file: FollowedFile, _ now: Instant) {
        let path = printable(file.path)
        guard file.faults == 0 else {
            file.stays = true
            tell("\(path): stays, since \(grouped(file.faults)) of its lines were no events")
            return
        }
        let held = cplatform_hold_writers(file.descriptor.number)
        defer { if held == 1 { cplatform_release_writers(file.descriptor.number) } }
        // From here on nobody can add anything, where the system can hold writers.
        let hasChanged = (try? file.look(now)) ?? true
        var status = stat()
        guard held != 0, !hasChanged, file.isTaken, lstat(file.path, &status) == 0, FileKey(status) == file.key else {
            file.notBefore = now + plan.idle
            return
        }
        guard unlink(file.path) == 0 else {
            file.stays = true
            tell("\(path): was taken in and cannot be removed: \(SystemFault())")
            return
        }
        places[file.key] = nil
        removed.insert(file.number)
    }

    private var removed: Set<Int> = []

    private func isDone(_ file: FollowedFile) -> Bool {
        if removed.remove(file.number) != nil { return true }
        guard let nameless = file.nameless, file.isTaken else { return false }
        let now = around.clock.now()
        guard now >= max(nameless, file.changed) + plan.idle, !isWritten(file) else { return false }
        // Somebody may have written to it since it was read.
        guard (try? file.look(now)) == false, file.changed < now else { return false }
        places[file.key] = nil
        return true
    }

    // MARK: - Places

    /// When it is to be tried again.
    private func keep(_ now: Instant) -> Instant {
        guard !places.isKept else { return Instant(nanoseconds: .max) }
        guard now >= nextKeep else { return nextKeep }
        nextKeep = now + FileFollower.keeping
        do throws(SystemFault) {
            try places.keep()
            return Instant(nanoseconds: .max)
        } catch {
            tell("\(printable(places.path ?? "")): how far files were read cannot be written: \(error)")
            return nextKeep
        }
    }
}
