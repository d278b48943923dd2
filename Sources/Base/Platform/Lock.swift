// A lock and a condition on pthreads, which the thread sanitizer understands (Synchronization.Mutex it does not).

internal import Glibc

/// A value that only one thread sees at a time, and on whose change threads can wait.
public final class Monitor<Value: ~Copyable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    public init(_ value: consuming sending Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    public func withLock<R: ~Copyable, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    /// Tries again each time the value may have changed, until the body has a result; the lock is given up in between.
    /// There is no call to wait from inside `withLock`: what the body was lent may not change under its hands, and an
    /// optimised build would rightly go on with the old value.
    public func waitUntilReady<R>(_ attempt: (inout Value) -> Readiness<R>) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            switch attempt(&value) {
            case .ready(let result): return result
            case .notBefore(let instant): sleep(until: instant)
            }
        }
    }

    /// Waits for as long as the condition holds.
    public func wait(while condition: (borrowing Value) -> Bool) {
        waitUntilReady { condition($0) ? .notBefore(nil) : .ready(()) }
    }

    private func sleep(until instant: Instant?) {
        guard let instant else {
            pthread_cond_wait(condition, mutex)
            return
        }
        let (seconds, fraction) = instant.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(fraction))
        pthread_cond_timedwait(condition, mutex, &time)
    }

    /// Wakes one of the threads that wait, where any of them will do.
    public func wakeOne() { pthread_cond_signal(condition) }

    /// Wakes every thread that waits.
    public func wake() { pthread_cond_broadcast(condition) }
}

/// What an attempt under a monitor's lock came to.
public enum Readiness<Result> {
    case ready(Result)
    /// Not yet: to be tried again when the value may have changed, or when the instant has come.
    case notBefore(Instant?)
}
