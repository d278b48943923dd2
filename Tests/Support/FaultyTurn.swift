// The turn of a test with the shared files that fail.

internal import FaultyFiles

/// Waits for its turn without blocking, because a blocked test would keep a thread from all other tests.
public func takeFaultyFiles() async {
    while faulty_try_take() == 0 { await Task.yield() }
}
