// Which events are of some subjects, found by what stands beside them and without parsing them.

internal import Events

extension Batch {
    /// By index.
    public func events(of subjects: Set<SubjectKey>) -> [Int] {
        entries.indices.filter { index in self.subjects(of: index).contains(where: subjects.contains) }
    }

    /// The keys of the subjects of one event.
    public func subjects(of index: Int) -> [SubjectKey] {
        let first = Int(entries[index].firstSubject)
        return Array(subjects[first..<first + Int(entries[index].subjectCount)])
    }
}
