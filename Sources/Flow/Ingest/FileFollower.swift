// Follows all files of a source, step by step: finds them, reads what was added, submits it, and removes or closes the files that are
// finished. It never waits: each step returns the latest time of the next step. One thread at a time takes the steps; answers come from any
// thread. A renamed or deleted file is never closed before the sink has answered for all of its lines.

internal import CPlatform
internal import Events
internal import Glibc
internal import Plans
internal import Platform

final class FileFollower {
    /// The settings and services that a source needs.
    struct Dependencies: Sendable {
        var source: Int
        var lineLimit: Int
        /// The path of the file of places. If it is nil, places are not stored.
        var places: String?
        var clock: Clock
        var say: @Sendable (String) -> Void
        /// Receives the size in bytes of each line over the limit.
        var overlong: @Sendable (Int) -> Void
    }

    /// The largest number of open files.
    static let mostOpen = 512
    /// The pause before lines are submitted again to a full sink.
    static let pause = Duration.milliseconds(100)
    /// The shortest time between two writes of the places.
    static let keeping = Duration.milliseconds(200)

    private struct Answers {
        var list: [(file: Int, submission: Submission)] = []
    }

    private let name: String
    private let plan: FileSourcePlan
    private let around: Dependencies
    private let sink: any EventSink
    /// Called after each answer.
    private let wake: @Sendable () -> Void
    private let answers = Monitor(Answers())
    private var places: FilePlaces
    private var files: [FollowedFile] = []
    /// The files that were closed to make way for others, and those that are not read, with their state at that time.
    private var resting: [FileKey: FollowedFile.Sight] = [:]
    private var made = 0
    private var nextLook = Instant(nanoseconds: .min)
    private var nextKeep = Instant(nanoseconds: .min)
    private var isClosing = false
    /// The messages that were reported before. Each is reported once.
    private var reported: Set<String> = []

    init(
        _ name: String, plan: FileSourcePlan, around: Dependencies, sink: any EventSink, wake: @escaping @Sendable () -> Void = {}
    ) throws(FilePlacesFault) {
        self.name = name
        self.plan = plan
        self.around = around
        self.sink = sink
        self.wake = wake
        places = try FilePlaces(around.places, wall: around.clock.wall, say: around.say)
    }

    /// Takes one step. `names` is true if files may have appeared or disappeared. Returns the latest time of the next step.
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

    /// Processes the answers so far and writes the places. Nothing is read after that.
    func finish() {
        isClosing = true
        takeAnswers(around.clock.now())
        nextKeep = Instant(nanoseconds: .min)
        _ = keep(around.clock.now())
    }

    private func tell(_ text: String) {
        if reported.count > 1000 { reported.removeAll() }
        if reported.insert(text).inserted { around.say("\(name): \(text)") }
    }

    // MARK: - Finding

    private func find(_ now: Instant) {
        var named: Set<FileKey> = []
        let open = Dictionary(uniqueKeysWithValues: files.map { ($0.key, $0) })
        for pattern in plan.paths {
            for path in matches(pattern) {
                var status = stat()
                // With `drain` the path must be the file itself, because that file is removed later.
                guard (plan.drains ? lstat(path, &status) : stat(path, &status)) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
                let key = FileKey(status)
                guard named.insert(key).inserted else { continue }
                if let file = open[key] {
                    file.path = path
                    file.nameless = nil
                } else if resting[key] != FollowedFile.Sight(status) {
                    follow(path, key: key, now: now)
                }
            }
        }
        for file in files where !named.contains(file.key) && file.nameless == nil { file.nameless = now }
        for key in resting.keys where !named.contains(key) { resting[key] = nil }
        places.prune(keeping: named.union(open.keys))
    }

    private func follow(_ path: String, key: FileKey, now: Instant) {
        guard mayFollow(path, key), files.count < FileFollower.mostOpen || closeLongestIdle(now) else { return }
        assert(!files.contains { $0.key == key }, "a file is followed twice")
        assert(files.count < FileFollower.mostOpen, "more files are open than may be")
        let number = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (plan.drains ? O_NOFOLLOW : 0))
        guard number >= 0 else {
            // A file that has disappeared in the meantime is ignored.
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

    /// Returns true if no other user has put a symbolic link into the path.
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

    /// Reads from the file, and removes it if it is finished. Returns the time at which it must be checked again.
    private func work(on file: FollowedFile, _ now: Instant) -> Instant {
        let never = Instant(nanoseconds: .max)
        guard !isClosing, !file.isPending else { return never }
        guard now >= file.notBefore else { return file.notBefore }
        do throws(SystemFault) {
            if try file.look(now) {
                around.say("\(name): \(printable(file.path)): was truncated or rewritten, and is read from its beginning")
            }
        } catch {
            tell("\(printable(file.path)): cannot be read: \(error)")
            return never
        }
        guard read(file, now) else { return never }
        // The place is stored from the first check on, even if nothing of the file was taken yet.
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

    /// Returns what counts as the end of the last line. Nothing does while somebody may still write to the file. If the file has lost its
    /// name, its end does.
    private func ending(of file: FollowedFile, _ now: Instant) -> FollowedFile.Ending {
        guard now - file.changed >= plan.idle, plan.drains || file.nameless != nil, !isWritten(file) else { return .never }
        return file.nameless == nil ? .whole : .always
    }

    /// Returns true if somebody has the file open for writing, as far as the system can tell.
    private func isWritten(_ file: FollowedFile) -> Bool {
        let held = cplatform_hold_writers(file.descriptor.number)
        if held == 1 { cplatform_release_writers(file.descriptor.number) }
        return held == 0
    }

    /// Reads from the file and submits the lines. Returns false if the file must not be read at all.
    private func read(_ file: FollowedFile, _ now: Instant) -> Bool {
        let ending = ending(of: file, now)
        while true {
            var buffer = ByteBuffer()
            let piece = file.read(&buffer, lineLimit: around.lineLimit, ending: ending) { bytes in
                around.overlong(bytes)
                around.say("\(name): \(printable(file.path)): a line of \(grouped(bytes)) bytes is over the limit, and is skipped")
            }
            switch piece {
            case .again: continue
            case .nothing: return true
            case .torn(let bytes):
                tell(
                    "\(printable(file.path)): stays, because its last line of \(grouped(bytes)) bytes has no newline and is not"
                        + " a complete event; it is read when the rest of it has arrived")
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
                let isTaken = sink.submit(buffer, from: Submitter(source: around.source)) { [answers, wake] submission in
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

    /// Stops reading compressed data, which has no lines. The file stays unchanged, and is checked again when it changes.
    private func refuse(_ file: FollowedFile, _ form: FileBeginning.Compression) {
        let path = printable(file.path)
        tell(
            "\(path): is compressed with \(form.name), and is not read; to read its contents, run \(form.command) '\(path)' > NAME,"
                + " with a NAME that matches 'paths'")
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
            case .lost:
                assertionFailure("a followed file does not wait for the end of its events")
                file.giveBack()
            case .closing:
                file.giveBack()
                isClosing = true
            }
        }
    }

    // MARK: - Removing and closing

    /// Removes a file after all of it was taken, if nobody writes to it.
    private func remove(_ file: FollowedFile, _ now: Instant) {
        let path = printable(file.path)
        guard file.faults == 0 else {
            file.stays = true
            tell("\(path): stays, because it contains lines that are not events: \(grouped(file.faults))")
            return
        }
        let held = cplatform_hold_writers(file.descriptor.number)
        defer { if held == 1 { cplatform_release_writers(file.descriptor.number) } }
        // From here on nobody can add anything, provided that the system can hold back writers.
        let hasChanged = (try? file.look(now)) ?? true
        var status = stat()
        guard held != 0, !hasChanged, file.isTaken, lstat(file.path, &status) == 0, FileKey(status) == file.key else {
            file.notBefore = now + plan.idle
            return
        }
        guard unlink(file.path) == 0 else {
            file.stays = true
            tell("\(path): was read completely and cannot be removed: \(SystemFault())")
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
        // Somebody may have written to the file after it was read.
        guard (try? file.look(now)) == false, file.changed < now else { return false }
        places[file.key] = nil
        return true
    }

    // MARK: - Places

    /// Writes the places. Returns the time of the next attempt.
    private func keep(_ now: Instant) -> Instant {
        guard !places.isKept else { return Instant(nanoseconds: .max) }
        guard now >= nextKeep else { return nextKeep }
        nextKeep = now + FileFollower.keeping
        do throws(SystemFault) {
            try places.keep()
            return Instant(nanoseconds: .max)
        } catch {
            tell("\(printable(places.path ?? "")): the places of followed files cannot be written: \(error)")
            return nextKeep
        }
    }
}
