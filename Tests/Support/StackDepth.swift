// Tells how deep the stack of a thread is, so that a test can see that a call takes no more of it each time.

/// An address in the present stack frame. Two calls from functions that are called in the same way return the same address.
@inline(never) public func stackAddress() -> UInt {
    var here: UInt8 = 0
    return withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) }
}
