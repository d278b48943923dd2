// A lock and a condition variable based on pthreads, which the thread sanitizer understands. It does not understand Synchronization.Mutex.

internal import Glibc

/// A value that only one thread can access at a time. Threads can wait for changes of the value. A function belongs into a structure: if the
/// value itself is a function, an optional one or a tuple with one, each access converts it and stores it back with one more conversion
/// around it, so that each call takes more time and stack than the one before.
public final class Monitor<Value: ~Copyable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = Condition()
    private var value: Value

    public init(_ value: consuming sending Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    public func withLock<R: ~Copyable, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    /// Calls the body again each time the value may have changed, until it returns a result. The lock is released in between. There is no
    /// way to wait inside `withLock`, because the value must not change while a body has borrowed it. An optimized build could keep using
    /// the old value. A thread that waits for a condition of its own is woken by this condition, and not by `wake`.
    public func waitUntilReady<R>(for own: Condition? = nil, _ attempt: (inout Value) -> Readiness<R>) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            switch attempt(&value) {
            case .ready(let result): return result
            case .notBefore(let instant): (own ?? condition).sleep(mutex, until: instant)
            }
        }
    }

    /// Waits as long as the condition is true.
    public func wait(while condition: (borrowing Value) -> Bool) {
        waitUntilReady { condition($0) ? .notBefore(nil) : .ready(()) }
    }

    /// Wakes one waiting thread. Use it only if any of them will do.
    public func wakeOne() { condition.wakeOne() }

    /// Wakes all waiting threads, except those that wait for a condition of their own.
    public func wake() { condition.wake() }
}

/// What some of the threads wait for that wait at one monitor. To wake them leaves the other threads asleep. To wake nobody costs nothing.
public final class Condition: @unchecked Sendable {
    private let variable = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    public init() {
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(variable, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(variable)
        variable.deallocate()
    }

    fileprivate func sleep(_ mutex: UnsafeMutablePointer<pthread_mutex_t>, until instant: Instant?) {
        guard let instant else {
            pthread_cond_wait(variable, mutex)
            return
        }
        // The call would refuse such a time and return at once, so that the thread would not wait at all.
        assert(instant.nanoseconds >= 0, "a thread waits until a time before the clock began")
        let (seconds, fraction) = instant.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(fraction))
        pthread_cond_timedwait(variable, mutex, &time)
    }

    public func wakeOne() { pthread_cond_signal(variable) }
    public func wake() { pthread_cond_broadcast(variable) }
}

/// The result of an attempt under a monitor's lock.
public enum Readiness<Result> {
    case ready(Result)
    /// There is no result yet. The attempt is repeated when the value may have changed, or at the given time.
    case notBefore(Instant?)
}
