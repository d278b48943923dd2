// Handles a module that calls exit() in the router's own process. Before a run has begun, and in a command that reads no events, there is
// nothing to account for: a message is written, and the process ends. A run settles its events first: the lane of the provider stops like
// that of a module that hangs, the other lanes deliver what was read, and the account is written.

internal import Glibc
internal import Platform
internal import PluginHost
public import Router
internal import Terminal

public enum ModuleExits {
    /// From now on, such a call ends the process at once, with this code.
    public static func endAtOnce(_ code: Int32, say: @escaping @Sendable (String) -> Void) {
        ExitGuard.begin { call in
            say("\(text(of: call)); \(way)")
            _exit(code)
        }
    }

    /// From now on, such a call ends the run. `time` is the deadline of the shutdown.
    public static func end(_ router: Router, within time: Duration, say: @escaping @Sendable (String) -> Void) {
        ExitGuard.begin { call in
            say("\(text(of: call)) and is not called again; the router ends, with code \(ExitCode.undelivered); \(way)")
            router.stop(providers: call.providers, for: "the module \(call.words)", isInDelivery: call.isInDelivery)
            Signals.end()
            // The module may still hold something that blocks the shutdown, such as a lock of a library.
            Thread.start("last resort") {
                let until = Clock.system.now() + time + .seconds(15)
                Monitor(()).waitUntilReady { _ in Clock.system.now() >= until ? .ready(()) : .notBefore(until) }
                say("the router cannot finish, since the module \(call.words); ending without an account")
                _exit(ExitCode.undelivered)
            }.detach()
        }
    }

    private static let way = "with \"isolate\": true a module that ends does not end the router"

    private static func text(of call: ExitGuard.Call) -> String {
        let whose = call.provider.map { printable($0) + ": " } ?? ""
        return "\(whose)\(call.module.map { "the module \(printable($0))" } ?? "a library that a module uses") \(call.words)"
    }
}
