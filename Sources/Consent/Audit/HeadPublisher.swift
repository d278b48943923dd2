// Brings the signed head to places outside of the state folder, so that a trail that was cut off or set back is noticed: to a file, and to a
// command, which may pass it to a witness. The command gets on its standard input what the `add-checkpoint` call of C2SP tlog-witness takes:
// the size of the last head that was cosigned, a proof that the log has only grown since then, and the head. What it prints are the
// signature lines of witnesses, or the size that a witness knows instead. So `curl --data-binary @- URL/add-checkpoint` is such a command.

internal import Glibc
public import MerkleLog
public import Platform

public final class HeadPublisher: Sendable {
    public struct Settings: Sendable {
        /// The file that gets each new head. It is nil if there is none.
        public var file: String?
        /// The command with its arguments. It is empty if there is none.
        public var command: [String] = []
        public var every = Duration.seconds(60)
        /// The keys of the witnesses whose signatures are taken.
        public var witnesses: [NoteKey] = []
        public init() {}
    }

    private struct State {
        var isEnding = false
        var hasEnded = false
        /// The last head that was brought to all places.
        var published: [UInt8] = []
        var hasFailed = false
    }

    private let files: TrailFiles
    private let keys: AuditKeys
    private let settings: Settings
    private let clock: Clock
    private let say: @Sendable (String) -> Void
    private let state = Monitor(State())

    /// How long the command may take.
    private static let timeout = Duration.seconds(30)
    private static let mostOutput = 64 << 10

    public init(_ files: TrailFiles, keys: AuditKeys, _ settings: Settings, clock: Clock, say: @escaping @Sendable (String) -> Void) {
        self.files = files
        self.keys = keys
        self.settings = settings
        self.clock = clock
        self.say = say
    }

    /// Throws if the file has a head that the trail does not contain: then the trail was cut off or set back.
    public func checkFile() throws(StorageFault) {
        guard let path = settings.file, let bytes = try TrailFiles.read(path, most: SignedNote.largest) else { return }
        let (_, kept) = try TrailReader.head(bytes, keys: keys.all, path)
        guard let reader = try TrailReader(files, keys: keys.all) else { return }
        guard kept.size <= reader.head.size, try reader.root(of: 0..<kept.size) == kept.root else {
            throw StorageFault(
                .damaged,
                "\(files.folder): the audit trail has \(grouped(reader.head.size)) entries that do not continue the head of "
                    + "\(grouped(kept.size)) in \(path): it was cut off or replaced; restore it, or move \(path) away to accept the loss")
        }
    }

    // MARK: - The thread

    public func start() { Thread.start("audit heads") { self.run() }.detach() }

    private func run() {
        while true {
            let deadline = clock.now() + settings.every
            let isEnding = state.waitUntilReady { state -> Readiness<Bool> in
                state.isEnding ? .ready(true) : clock.now() >= deadline ? .ready(false) : .notBefore(deadline)
            }
            publish()
            if isEnding { break }
        }
        state.withLock { $0.hasEnded = true }
        state.wake()
    }

    /// Brings the last head to its places, and ends the thread.
    public func end() {
        state.withLock { $0.isEnding = true }
        state.wake()
        state.wait(while: { !$0.hasEnded })
    }

    /// Brings the head to its places if it is a new one. A failure is reported once, and tried again the next time.
    public func publish() {
        do throws(StorageFault) {
            guard let reader = try TrailReader(files, keys: keys.all), reader.note.bytes != state.withLock({ $0.published }) else { return }
            var note = reader.note
            if !settings.command.isEmpty { note = try cosigned(reader) }
            if let file = settings.file { try TrailFiles.replace(file, with: note.bytes, syncs: true) }
            state.withLock { state in
                state.published = reader.note.bytes
                state.hasFailed = false
            }
        } catch {
            let isNews = state.withLock { state in
                defer { state.hasFailed = true }
                return !state.hasFailed
            }
            if isNews { say("the head of the audit trail was not published: \(error)") }
        }
    }

    // MARK: - Witnesses

    /// Passes the head to the command. Returns it with the signatures of witnesses.
    private func cosigned(_ reader: TrailReader) throws(StorageFault) -> SignedNote {
        var old = 0
        if let bytes = try TrailFiles.read(files.cosigned, most: SignedNote.largest), let note = SignedNote(bytes),
            let known = Checkpoint(text: note.text), known.size <= reader.head.size
        {
            old = known.size
        }
        var answer = try ask(reader, old: old)
        // A witness that knows another head says its size. Then the proof begins there.
        if let size = Int(answer.trimmed), size >= 0, size != old, size <= reader.head.size { answer = try ask(reader, old: size) }
        var note = reader.note
        for line in answer.split(separator: "\n") {
            guard let signature = NoteSignature(line: line) else { continue }
            if settings.witnesses.contains(where: { note.isCosigned(signature, by: $0) }) { note.signatures.append(signature) }
        }
        guard settings.witnesses.allSatisfy({ note.standing($0) == .signed }) else {
            throw StorageFault(.failed, "the command printed no valid signature of every witness")
        }
        try TrailFiles.replace(files.cosigned, with: note.bytes, syncs: true)
        return note
    }

    /// Returns what `add-checkpoint` takes.
    public static func request(_ reader: TrailReader, old: Int) throws(StorageFault) -> [UInt8] {
        var text = "old \(old)\n"
        for hash in try reader.consistency(old: old, new: reader.head.size) { text += StrictBase64.encode(hash.bytes) + "\n" }
        return Array(text.utf8) + [0x0a] + reader.note.bytes
    }

    private func ask(_ reader: TrailReader, old: Int) throws(StorageFault) -> String {
        let request = try HeadPublisher.request(reader, old: old)
        do throws(SystemFault) {
            return try HeadPublisher.run(settings.command, input: request, deadline: clock.now() + HeadPublisher.timeout, clock)
        } catch {
            throw StorageFault(.failed, "\(printable(settings.command[0])): \(error)")
        }
    }

    /// Runs a command with this standard input, and returns what it prints. A command that takes too long is ended.
    private static func run(_ command: [String], input: [UInt8], deadline: Instant, _ clock: Clock) throws(SystemFault) -> String {
        let (theirInput, input_) = try makePipe()
        let writing = Descriptor(owning: input_)
        let theirs = Descriptor(owning: theirInput)
        let (output, theirOutput) = try makePipe()
        let reading = Descriptor(owning: output)
        let theirEnd = Descriptor(owning: theirOutput)
        let process = try Process(command[0], Array(command.dropFirst()), descriptors: [theirs.number, theirEnd.number, 2])
        _ = consume theirs
        _ = consume theirEnd
        // A request is small, so the pipe takes it at once.
        assert(input.count < 64 << 10, "a request may fill the pipe")
        do throws(SystemFault) {
            try input.withUnsafeBufferPointer { (bytes) throws(SystemFault) in try writing.write(UnsafeRawBufferPointer(bytes)) }
        } catch {
            // The command may end without reading its input.
            if error.code != EPIPE { throw error }
        }
        _ = consume writing
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while text.count < mostOutput {
            let left = (deadline - clock.now()).nanoseconds / 1_000_000
            var ready = pollfd(fd: reading.number, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&ready, 1, Int32(clamping: left)) > 0 else {
                process.kill()
                _ = process.wait()
                throw SystemFault(code: ETIMEDOUT)
            }
            let count = read(reading.number, &buffer, buffer.count)
            if count <= 0 { break }
            text += buffer[..<count]
        }
        _ = process.endsWhole(within: .seconds(1))
        _ = process.wait()
        return String(decoding: text, as: UTF8.self)
    }
}

extension SignedNote {
    /// Returns true if the signature is a valid one of the key over this text.
    fileprivate func isCosigned(_ signature: NoteSignature, by key: NoteKey) -> Bool {
        signature.name == key.name && signature.id == key.id && SignedNote(text: text, signatures: [signature]).standing(key) == .signed
    }
}

extension String {
    fileprivate var trimmed: Substring {
        var text = self[...]
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return text
    }
}
