// Finds the events of some subjects by their entries, without parsing the events.

internal import Events

extension Batch {
    /// Returns the indices of the events of these subjects.
    public func events(of subjects: Set<SubjectKey>) -> [Int] {
        entries.indices.filter { index in self.subjects(of: index).contains(where: subjects.contains) }
    }

    /// Returns the subjects of one event.
    public func subjects(of index: Int) -> [SubjectKey] {
        let first = Int(entries[index].firstSubject)
        assert(first + Int(entries[index].subjectCount) <= subjects.count, "an event has subjects that its batch lacks")
        return Array(subjects[first..<first + Int(entries[index].subjectCount)])
    }
}
