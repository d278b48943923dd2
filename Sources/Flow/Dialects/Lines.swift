// Where lines end.

internal import Events
internal import Glibc

/// Where the line that `start` is in ends: its newline, or the limit.
@inline(__always) func lineEnd(_ text: Bytes, _ start: Int, _ limit: Int) -> Int {
    guard start < limit, let found = memchr(text + start, 0x0a, limit - start) else { return limit }
    return UnsafeRawPointer(found) - UnsafeRawPointer(text)
}
