// Erases subjects in all files of a provider. It looks at the files again until it finds none that it has not rewritten, so a file that is
// rotated meanwhile is not missed. What it cannot reach it names, so that a person can do the rest.

internal import Glibc
internal import PluginKit

struct FileErasure {
    /// What stands in the way of a confirmation.
    private struct Report {
        /// Places that are out of reach, for every subject.
        var places: [String] = []
        /// Files with lines that are not events, and the subjects whose ids may stand there.
        var lines: [String] = []
        var doubtful: Set<Int> = []
        var fault: FileFault?
    }

    private static let mostRounds = 100
    /// The number of places that an answer names.
    private static let mostNamed = 3

    let rules: FileRules
    let host: Host
    let system: FileSystem

    /// Rewrites the files. The caller sees to it that no file is compressed or removed meanwhile.
    func run(_ subjects: [Erasure.Subject], in files: OwnFiles, isStopped: @escaping () -> Bool) -> Erasure.Answer {
        let filter: SubjectFilter
        do throws(SettingsFault) { filter = try SubjectFilter(subjects) } catch { return Erasure.Answer(.fault(error.description)) }
        if let fault = files.unreadableFolder { return Erasure.Answer(.retry(code: Int(fault.code), fault.message)) }
        for leftover in files.halfCompressed { unlink(leftover) }
        for leftover in files.halfRewritten { Rewriting.removeLeftover(leftover) }
        var clean: Set<FileMark> = []
        var passed: Set<String> = []
        var report = Report()
        for _ in 0..<FileErasure.mostRounds {
            var isDone = true
            for path in files.all + streams() where !passed.contains(path) {
                guard let path = place(of: path, &passed, &report), !passed.contains(path) else { continue }
                if let mark = Rewriting.mark(of: path), clean.contains(mark) { continue }
                guard !isStopped() else { return Erasure.Answer(.retry("the provider was closed before its files were rewritten")) }
                isDone = false
                guard let mark = rewrite(path, filter, &passed, &report, isStopped) else { continue }
                clean.insert(mark)
            }
            if isDone { return answer(report, files) }
        }
        return Erasure.Answer(.retry("the files were moved again and again while they were rewritten"))
    }

    /// The path of now, if it does not lead to a regular file of the provider's own pattern.
    private func streams() -> [String] { rules.template.hasFields ? [] : [rules.template.path(at: system.now() / 1_000_000_000)] }

    /// Returns the place of the regular file behind the path, or nil if there is none.
    private func place(of path: String, _ passed: inout Set<String>, _ report: inout Report) -> String? {
        guard let status = FileStatus(path: path) else { return nil }
        guard status.kind == .regular else {
            passed.insert(path)
            if status.kind != .folder {
                report.places.append("'\(path)' is not a regular file: what was written to it is with its reader")
            }
            return nil
        }
        do throws(ForeignEntry) {
            _ = try SharedFolder(path, writes: true)
        } catch {
            passed.insert(path)
            report.places.append(FileFault(error).message)
            return nil
        }
        guard FileStatus(path: path, followingLinks: false)?.kind == .link else { return path }
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    /// Returns the mark of the rewritten file. Returns nil if the file was moved, or cannot be rewritten.
    private func rewrite(
        _ path: String, _ filter: SubjectFilter, _ passed: inout Set<String>, _ report: inout Report, _ isStopped: @escaping () -> Bool
    ) -> FileMark? {
        let rewriting = Rewriting(path, filter, system: system, isStopped: isStopped)
        do throws(FileFault) {
            let ending = try rewriting.run()
            if ending == .hasOtherNames {
                passed.insert(path)
                report.places.append("'\(path)' has another name (hard link), so it stays as it is")
            }
            guard case .clean(let mark) = ending else { return nil }
            if rewriting.removed > 0 { host.log(.information, "erased \(grouped(rewriting.removed)) events in '\(path)'") }
            if rewriting.unreadable > 0 {
                report.lines.append("\(grouped(rewriting.unreadable)) lines of '\(path)' are not events and may hold an id; they stay")
            }
            report.doubtful.formUnion(rewriting.doubtful)
            return mark
        } catch {
            passed.insert(path)
            // Only a person can decide what a damaged file is worth. Everything else may be over when the job is asked for again.
            if error.code == EBADMSG || error.code == EMSGSIZE {
                report.places.append("\(error.message) and stays as it is")
            } else if report.fault == nil {
                report.fault = error
            }
            return nil
        }
    }

    private func answer(_ report: Report, _ files: OwnFiles) -> Erasure.Answer {
        if let fault = report.fault { return Erasure.Answer(.retry(code: Int(fault.code), fault.message)) }
        let moved = files.movedAway.map { "'\(printable($0))' was moved there by another program" }
        let places = report.places + moved
        let refusal = Outcome.rejected(FileErasure.words(places + report.lines))
        if !places.isEmpty { return Erasure.Answer(refusal) }
        let doubtful = report.doubtful.sorted().map { (index: $0, outcome: refusal) }
        return doubtful.isEmpty ? .confirmed : Erasure.Answer(.mixed(rest: .delivered, events: doubtful))
    }

    private static func words(_ all: [String]) -> String {
        let more = all.count - mostNamed
        let named = all.prefix(mostNamed).joined(separator: "; ") + (more > 0 ? "; and \(grouped(more)) more" : "")
        return "\(named). Remove the events of the subjects there by hand."
    }
}
