// What becomes of a module's call of exit() in the router's own process. Unguarded it would end the router in the middle of its work, with
// the code that the module likes and without an account. Guarded, the call never returns and ends nothing: its thread stands still, and
// who guards the process is told which provider it was, so that the router can settle what it has and end by itself.
//
// In `create` it is a refusal of the settings like any other. What cannot be caught in one process, `_exit`, a signal or `abort`, is for
// `isolate`. Unless a process is guarded, and so in that of an isolated module, exit() is what it always was.

internal import CExit
internal import Glibc
internal import Platform

public enum ExitGuard {
    /// A call that was caught.
    public struct Call: Sendable {
        /// The name in routes.json of the provider that was called; nil: the module called exit() on a thread of its own.
        public var provider: String?
        /// The same, or else all that the module's file has made, of which one has started the thread.
        public var providers: Set<String>
        /// The module's file; nil: the call came from elsewhere, such as a library that a module uses.
        public var module: String?
        /// What it did, such as `called exit(0) in deliver`.
        public var words: String
        /// Whether the module can still be expected to do what its provider has in its hands.
        public var isInDelivery: Bool
    }

    private struct State {
        var handler: (@Sendable (Call) -> Void)?
        var calls: [Call] = []
        var hasCaught = false
        /// By the path that the linker knows it by: the module's file.
        var libraries: [String: String] = [:]
        var visitors: [Visitor] = []
    }
    private static let state = Monitor(State())

    /// From now on a module's call of exit() is caught and `handler` told, one call at a time and by a thread that does nothing else.
    /// Called again, another handler takes over.
    public static func begin(_ handler: @escaping @Sendable (Call) -> Void) {
        let isFirst = state.withLock { state in
            defer { state.handler = handler }
            return state.handler == nil
        }
        guard isFirst else { return }
        Thread.start("exits") {
            while true {
                let (handler, call) = state.waitUntilReady { state -> Readiness<(@Sendable (Call) -> Void, Call)> in
                    guard let handler = state.handler, !state.calls.isEmpty else { return .notBefore(nil) }
                    return .ready((handler, state.calls.removeFirst()))
                }
                handler(call)
            }
        }.detach()
        cexit_guard { code, caller in ExitGuard.judge(code, caller) }
    }

    /// Whether a call was caught that is no refusal of settings.
    public static var hasCaught: Bool { state.withLock { $0.hasCaught } }

    /// Ends the process with that code, or, after a call that was caught, with `other` in place of 0 and without running what modules
    /// want to run at its end.
    public static func end(_ code: Int32, afterCall other: Int32) -> Never {
        if hasCaught { _exit(code == 0 ? other : code) }
        cexit_end(code)
    }

    // MARK: - The calling thread

    private static func judge(_ code: Int32, _ caller: UnsafeRawPointer?) {
        let doing = cexit_doing()
        let library = cexit_library(caller).map { String(cString: $0) }
        let stage = Stage(rawValue: doing & 7)
        let (visitor, module) = state.withLock { state in
            let index = Int(doing >> 3) - 1
            return (state.visitors.indices.contains(index) ? state.visitors[index] : nil, library.flatMap { state.libraries[$0] })
        }
        if let visitor, visitor.refuses(code) { cexit_park() }
        let place = visitor == nil || stage == nil ? "on a thread of its own" : "in \(stage!.words)"
        let siblings = state.withLock { state in state.visitors.filter { $0.path == module }.map(\.provider) }
        let call = Call(
            provider: visitor?.provider, providers: Set(visitor.map { [$0.provider] } ?? siblings), module: visitor?.path ?? module,
            words: "called exit(\(code)) \(place)",
            isInDelivery: [nil, .deliver, .flush, .reopen].contains(stage))
        state.withLock { state in
            state.hasCaught = true
            state.calls.append(call)
        }
        state.wake()
        cexit_park()
    }

    /// What the module is called for.
    enum Stage: UInt64 {
        case load = 1
        case create, deliver, flush, reopen, destroy

        var words: String {
            switch self {
            case .load: "its constructor"
            case .create: "create"
            case .deliver: "deliver"
            case .flush: "flush"
            case .reopen: "reopen"
            case .destroy: "destroy"
            }
        }
    }

    /// The linker has taken the library of a module, and knows it by that path.
    static func note(library shownPath: String, of path: String) {
        state.withLock { $0.libraries[shownPath] = path }
        cexit_come_first()
    }

    /// Who is called: a provider of routes.json. It is kept for the life of the process, since its module's threads may be.
    final class Visitor: Sendable {
        let provider: String
        let path: String
        private let number: UInt64
        /// Told of the call of exit() that ends an attempt; nil: none is under way.
        private let attempt = Monitor<(@Sendable (Int32) -> Void)?>(nil)

        private init(_ provider: String, _ path: String, number: UInt64) {
            self.provider = provider
            self.path = path
            self.number = number
        }

        static func enter(_ provider: String, path: String) -> Visitor {
            state.withLock { state in
                let visitor = Visitor(provider, path, number: UInt64(state.visitors.count + 1) << 3)
                state.visitors.append(visitor)
                return visitor
            }
        }

        /// Calls the module on this thread.
        func during<R, E: Error>(_ stage: Stage, _ body: () throws(E) -> R) throws(E) -> R {
            let before = cexit_enter(number | stage.rawValue)
            defer { _ = cexit_enter(before) }
            return try body()
        }

        /// The same for create, on a thread that can be given up where calls of exit() are caught; the code of such a call is the failure.
        func attempt<R: Sendable>(_ body: @escaping @Sendable () -> R) -> Result<R, Exited> {
            guard state.withLock({ $0.handler != nil }) else { return .success(during(.create, body)) }
            let outcome = Monitor<Result<R, Exited>?>(nil)
            let settle: @Sendable (Result<R, Exited>) -> Void = { result in
                outcome.withLock { $0 = result }
                outcome.wake()
            }
            attempt.withLock { $0 = { settle(.failure(Exited(code: $0))) } }
            Thread.start("create") { settle(.success(self.during(.create, body))) }.detach()
            defer { attempt.withLock { $0 = nil } }
            return outcome.waitUntilReady { $0.map { .ready($0) } ?? .notBefore(nil) }
        }

        /// Whether the call ends an attempt, and no more.
        fileprivate func refuses(_ code: Int32) -> Bool {
            let attempt = attempt.withLock { $0 }
            attempt?(code)
            return attempt != nil
        }
    }

    struct Exited: Error { let code: Int32 }
}
