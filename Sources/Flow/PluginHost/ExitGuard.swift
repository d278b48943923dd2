// Catches a module's call of exit() in the router's own process. Without a guard, the call would end the router in the middle of its work,
// with an exit code that the module chooses and without an account. With the guard, the call never returns and does not end the process.
// Its thread is suspended, and a handler learns which provider it was, so that the router can deliver or store what it has and then end.
//
// In `create`, the call counts as a refusal of the settings. `_exit`, signals and `abort` cannot be caught inside one process; `isolate`
// protects against them. In a process without a guard, such as that of an isolated module, exit() behaves as usual.

internal import CExit
internal import Glibc
internal import Platform

public enum ExitGuard {
    /// A call that was caught.
    public struct Call: Sendable {
        /// The name in routes.json of the provider or the source that was called. It is nil if the module called exit() on a thread of its own.
        public var provider: String?
        /// Only that provider, or none for a source; if it is unknown, all providers of the module's file, since one of them has started the thread.
        public var providers: Set<String>
        /// The module's file. It is nil if the call came from other code, such as a library that a module uses.
        public var module: String?
        /// A description of the call, such as `called exit(0) in deliver`.
        public var words: String
        /// True if the call came in deliver, flush or reopen, or on a thread of the module, so that deliveries can be affected.
        public var isInDelivery: Bool
    }

    private struct State {
        var handler: (@Sendable (Call) -> Void)?
        var calls: [Call] = []
        var hasCaught = false
        /// The module's file for each path from which the linker has loaded a library.
        var libraries: [String: String] = [:]
        var visitors: [Visitor] = []
    }
    private static let state = Monitor(State())

    /// Catches each call of exit() by a module from now on. A dedicated thread passes the calls to `handler`, one at a time.
    /// A second call of `begin` replaces the handler.
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

    /// True if a call was caught that was not a refusal of settings.
    public static var hasCaught: Bool { state.withLock { $0.hasCaught } }

    /// Ends the process with `code`. After a call was caught, it uses `other` in place of 0 and does not run the exit handlers, which may
    /// belong to modules.
    public static func end(_ code: Int32, afterCall other: Int32) -> Never {
        if hasCaught { _exit(code == 0 ? other : code) }
        cexit_end(code)
    }

    // MARK: - The calling thread

    private static func judge(_ code: Int32, _ caller: UnsafeRawPointer?) {
        let doing = cexit_doing()
        let library = cexit_library(caller).map { String(cString: $0) }
        let stage = Stage(rawValue: doing & Stage.mask)
        let (visitor, module) = state.withLock { state in
            let index = Int(doing >> Stage.bits) - 1
            return (state.visitors.indices.contains(index) ? state.visitors[index] : nil, library.flatMap { state.libraries[$0] })
        }
        if let visitor, visitor.refuses(code) { cexit_park() }
        let place = visitor == nil || stage == nil ? "on a thread of its own" : "in \(stage!.words)"
        let siblings = state.withLock { state in state.visitors.filter { $0.path == module && !$0.isSource }.map(\.provider) }
        let call = Call(
            provider: visitor?.provider, providers: Set(visitor.map { $0.isSource ? [] : [$0.provider] } ?? siblings),
            module: visitor?.path ?? module,
            words: "called exit(\(code)) \(place)",
            isInDelivery: [nil, .deliver, .flush, .reopen, .erase].contains(stage))
        state.withLock { state in
            state.hasCaught = true
            state.calls.append(call)
        }
        state.wake()
        cexit_park()
    }

    /// The part of the module that runs.
    enum Stage: UInt64 {
        case load = 1
        case create, deliver, flush, reopen, destroy
        /// A preview or a probe.
        case inquire
        case erase
        // The calls of a source.
        case start, pause, resume, acknowledge, stop

        /// A call is noted in one number: that of its provider, and in the lowest bits its stage.
        static let bits: UInt64 = 4
        static let mask: UInt64 = (1 << bits) - 1

        var words: String {
            switch self {
            case .load: "its constructor"
            case .create: "create"
            case .deliver: "deliver"
            case .flush: "flush"
            case .reopen: "reopen"
            case .destroy: "destroy"
            case .inquire: "preview or probe"
            case .erase: "erase_subjects"
            case .start: "start"
            case .pause: "pause"
            case .resume: "resume"
            case .acknowledge: "acknowledge"
            case .stop: "stop"
            }
        }
    }

    /// Records that the linker has loaded the library of the module file `path` from `shownPath`.
    static func note(library shownPath: String, of path: String) {
        state.withLock { $0.libraries[shownPath] = path }
        cexit_come_first()
    }

    /// A provider or a source of routes.json whose module is called. It lives as long as the process, since threads of its module may do so too.
    final class Visitor: Sendable {
        let provider: String
        let path: String
        let isSource: Bool
        private let number: UInt64
        private struct Attempt {
            /// Receives the code of a call of exit() that ends the attempt. It is nil if no attempt is under way.
            var end: (@Sendable (Int32) -> Void)?
        }
        private let attempt = Monitor(Attempt())

        private init(_ provider: String, _ path: String, isSource: Bool, number: UInt64) {
            self.provider = provider
            self.path = path
            self.isSource = isSource
            self.number = number
        }

        static func enter(_ provider: String, path: String, isSource: Bool = false) -> Visitor {
            state.withLock { state in
                let visitor = Visitor(provider, path, isSource: isSource, number: UInt64(state.visitors.count + 1) << Stage.bits)
                state.visitors.append(visitor)
                return visitor
            }
        }

        /// Calls the module on this thread. Meanwhile a call of exit() on this thread counts for this provider and this stage.
        func during<R, E: Error>(_ stage: Stage, _ body: () throws(E) -> R) throws(E) -> R {
            assert(number & Stage.mask == 0 && number > 0 && stage.rawValue <= Stage.mask, "the number of a provider and its stage overlap")
            let before = cexit_enter(number | stage.rawValue)
            defer { _ = cexit_enter(before) }
            return try body()
        }

        /// Calls create. If calls of exit() are caught, it uses a thread that can be abandoned, and such a call is the failure.
        func attempt<R: Sendable>(_ body: @escaping @Sendable () -> R) -> Result<R, Exited> {
            guard state.withLock({ $0.handler != nil }) else { return .success(during(.create, body)) }
            let outcome = Monitor<Result<R, Exited>?>(nil)
            let settle: @Sendable (Result<R, Exited>) -> Void = { result in
                outcome.withLock { $0 = result }
                outcome.wake()
            }
            attempt.withLock { $0.end = { settle(.failure(Exited(code: $0))) } }
            Thread.start("create") { settle(.success(self.during(.create, body))) }.detach()
            defer { attempt.withLock { $0.end = nil } }
            return outcome.waitUntilReady { $0.map { .ready($0) } ?? .notBefore(nil) }
        }

        /// Ends the attempt under way with this code. It returns false if no attempt is under way.
        fileprivate func refuses(_ code: Int32) -> Bool {
            let end = attempt.withLock { $0.end }
            end?(code)
            return end != nil
        }
    }

    struct Exited: Error { let code: Int32 }
}
