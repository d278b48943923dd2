// A queue in one array. Taking from the front and putting back to the front take constant time on average.

struct Deque<Element> {
    private var storage: [Element?] = []
    private var head = 0

    var count: Int { storage.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Element? { isEmpty ? nil : self[0] }
    var last: Element? { isEmpty ? nil : self[count - 1] }
    subscript(_ index: Int) -> Element { storage[head + index]! }

    mutating func append(_ element: Element) { storage.append(element) }

    mutating func prepend(_ element: Element) {
        if head == 0 {
            // Reserve as much space in front as there is behind, so that the next elements fit without a move.
            let spare = max(4, storage.count)
            storage.insert(contentsOf: repeatElement(nil, count: spare), at: 0)
            head = spare
        }
        head -= 1
        storage[head] = element
    }

    mutating func removeFirst() -> Element { remove(at: 0) }

    mutating func remove(at index: Int) -> Element {
        assert(index < count, "an element behind the end is removed")
        let element = self[index]
        if index == 0 {
            storage[head] = nil
            head += 1
            if head > 32, head * 2 > storage.count {
                storage.removeFirst(head)
                head = 0
            }
        } else {
            storage.remove(at: head + index)
        }
        return element
    }

    mutating func removeAll() -> [Element] {
        defer { self = Deque() }
        return storage[head...].map { $0! }
    }
}
