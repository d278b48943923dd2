// Sends requests to the ledger. If a router has the state folder, they go over its control socket. If no process has the folder, the
// command claims it and opens the ledger itself. Both ways give the same answers.

internal import Audit
internal import Control
internal import Erasing
internal import Glibc
internal import Ledger
internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
internal import StateFiles
internal import Terminal

struct LedgerClient {
    private enum Place {
        case router(folder: String)
        case folder(StateFolder, LedgerFile, LedgerService, Plan, AuditLog?)
    }

    private let place: Place

    /// How long to wait for another process that has the folder and does not answer.
    private static let timeout = Duration.seconds(10)
    /// How long a router may be silent, since it may be busy with earlier requests.
    private static let silence = Duration.seconds(60)

    /// `makes` is true if a missing folder is to be made.
    init(_ arguments: Arguments, makes: Bool) throws {
        let folder = Loading.stateFolder(arguments["--state"])
        let clock = Clock.system
        let deadline = clock.now() + LedgerClient.timeout
        while !(try LedgerClient.answers(folder)) {
            guard makes || access(folder, F_OK) == 0 else { throw StateFailure("\(printable(folder)): \(SystemFault())") }
            let plan = try LedgerClient.plan(arguments)
            do {
                place = try LedgerClient.open(try StateFolder.claim(folder), plan)
                return
            } catch let taken as StateFolder.Taken {
                // Either another command has the folder for a moment, or a router has just started and answers soon.
                guard clock.now() < deadline else {
                    let who = taken.pid.map { "process \($0)" } ?? "another process"
                    throw StateFailure("\(printable(folder)): \(who) has this state folder and does not answer; try again later")
                }
                poll(nil, 0, 50)
            }
        }
        place = .router(folder: folder)
    }

    static func answers(_ folder: String) throws -> Bool {
        do throws(ControlFault) {
            _ = try ControlClient.ask(folder: folder, Request(method: "GET", path: "/healthz"))
            return true
        } catch {
            guard error.kind == .nobody else { throw StateFailure(error.description) }
            return false
        }
    }

    private static func plan(_ arguments: Arguments) throws -> Plan {
        let file = arguments["--config"] ?? Loading.defaultFile
        let plan = try Loading.plan(file, ModuleFolders.standard())
        guard plan.consent?.ledger != nil else { throw ConfigurationFailure(lines: ["\(printable(file)): \(LedgerService.advice)"]) }
        return plan
    }

    /// Returns the jobs of a folder that no router has. The next router that starts there asks the providers.
    private static func erasures(in folder: StateFolder, by plan: Plan, _ audit: AuditLog?) throws -> Erasures {
        let store = try ErasureStore.open(plan, in: folder.path, audit: audit) { Console.say($0) }!
        return Erasures(
            store, plan: { plan }, stored: { ErasureStore.storedProviders(in: folder.path) }, target: { _ in nil },
            say: { Console.say($0) })
    }

    private static func open(_ folder: StateFolder, _ plan: Plan) throws -> Place {
        do {
            var options = LedgerFile.Options(plan, under: try folder.storedKey())!
            options.warn = { Console.say($0) }
            let audit = try AuditLog.open(plan, in: folder.path, say: Console.say)
            if let audit { options.committed = { audit.note($0, $1) } }
            let file = try LedgerFile(folder.path + "/" + LedgerFile.name, options: options)!
            try audit?.begin(AuditLog.Beginning(plan, isBrief: true), ledger: file.position) { (time) throws(StorageFault) in
                try file.acts(after: time)
            }
            audit?.start()
            let erasures = try erasures(in: folder, by: plan, audit)
            return .folder(
                folder, file, LedgerService(.resting(file), erasures: erasures, folder: folder.path, audit: audit), plan,
                audit)
        } catch let fault as StorageFault {
            throw StateFailure(fault.description)
        }
    }

    func close() {
        guard case .folder(_, let file, let service, _, let audit) = place else { return }
        service.erasures.close()
        file.close()
        if let fault = audit?.close() { Console.say("the end of the audit trail could not be written: \(fault)") }
    }

    // MARK: - Asking

    /// Sends a request and returns the answer if it was carried out. `piece` is a piece of an import. Then the request goes into the query.
    func ask(_ request: LedgerRequest, piece: [UInt8]? = nil) throws -> [UInt8] {
        assert(
            piece != nil || (try? LedgerRequest(request.action, form: Array(request.form.utf8))) == request, "a request changes as a form")
        let posted = Request(
            method: "POST", path: request.action.path, query: piece == nil ? "" : request.form, body: piece ?? Array(request.form.utf8))
        let (status, body) = try answer(posted)
        if status == 200 { return body }
        let message = String(decoding: body.last == 0x0a ? body.dropLast() : body[...], as: UTF8.self)
        switch status {
        case 400: throw UsageFault(message)
        case 409: throw ConsentRefusal(status, message)
        case 422: throw ConfigurationFailure(lines: [message])
        default: throw StateFailure(message)
        }
    }

    private func answer(_ request: Request) throws -> (Int, [UInt8]) {
        switch place {
        case .router(let folder):
            do throws(ControlFault) {
                return try ControlClient.ask(folder: folder, request, timeout: LedgerClient.silence)
            } catch {
                throw StateFailure(error.description)
            }
        case .folder(_, _, let service, let plan, _):
            var own = request
            own.user = getuid()
            let response = service.answer(own, by: plan)
            return (response.status, response.body)
        }
    }
}

extension StateFolder {
    fileprivate func storedKey() throws(StorageFault) -> [UInt8] {
        do throws(StorageFault) {
            return try key()
        } catch {
            throw StorageFault(.failed, error.description)
        }
    }
}
