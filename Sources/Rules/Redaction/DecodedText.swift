// A text that was decoded from a string of an event, and the position of each of its bytes in the event. Its memory is reused for every
// string.

internal import Events

struct DecodedText: ~Copyable {
    /// The text, and bytes after it that can be read.
    private var buffer: UnsafeMutablePointer<UInt8>
    /// The position of each byte, and the end of the string.
    private(set) var places: UnsafeMutablePointer<UInt32>
    private var capacity = 256
    private var count = 0

    init() {
        buffer = .allocate(capacity: capacity + Starts.slack)
        places = .allocate(capacity: capacity + 1)
    }

    deinit {
        buffer.deallocate()
        places.deallocate()
    }

    var text: Subject { Subject(base: Bytes(buffer), count: count) }

    /// Returns the position in the event at which the character of byte i begins. For the end of the text, it is the end of the string.
    func place(_ i: Int) -> Int {
        assert((0...count).contains(i), "a place outside the text is asked for")
        return Int(places[i])
    }

    /// Begins a text of at most so many bytes.
    mutating func begin(most: Int) {
        count = 0
        guard most > capacity else { return }
        buffer.deallocate()
        places.deallocate()
        capacity = max(most, capacity * 2)
        buffer = .allocate(capacity: capacity + Starts.slack)
        places = .allocate(capacity: capacity + 1)
    }

    @inline(__always) mutating func put(_ byte: UInt8, at place: Int) {
        assert(count < capacity, "a decoded text is longer than its escaped form")
        buffer[count] = byte
        places[count] = UInt32(truncatingIfNeeded: place)
        count += 1
    }

    /// Ends the text. `place` is the end of the string in the event.
    mutating func end(at place: Int) { places[count] = UInt32(truncatingIfNeeded: place) }
}
