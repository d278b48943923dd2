// The memory that a process needed only to start. The kernel maps code in blocks of 64 KB around what is called, so a process that waits
// after its start has most of its program mapped, and calls little of it.

internal import CPlatform
internal import Glibc

public enum StartMemory {
    /// Gives the memory back to the kernel. What is used again costs one access to the cache of files for each block.
    public static func giveBack() { cplatform_give_back() }

    /// Returns true if reading from the descriptor would not wait.
    public static func hasInput(_ descriptor: Int32) -> Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, 0) > 0
    }
}
