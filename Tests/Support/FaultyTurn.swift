// Whose turn it is with the files that fail.

internal import FaultyFiles

/// Waits for them, and lets other tests go on meanwhile: one that blocked would keep a thread from all of them.
public func takeFaultyFiles() async {
    while faulty_try_take() == 0 { await Task.yield() }
}
