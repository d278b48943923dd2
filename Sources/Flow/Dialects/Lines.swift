// Finds the ends of lines.

internal import Events
internal import Glibc

/// Returns the end of the line that contains `start`: the place of its newline, or the limit.
@inline(__always) func lineEnd(_ text: Bytes, start: Int, limit: Int) -> Int {
    guard start < limit, let found = memchr(text + start, 0x0a, limit - start) else { return limit }
    return UnsafeRawPointer(found) - UnsafeRawPointer(text)
}
