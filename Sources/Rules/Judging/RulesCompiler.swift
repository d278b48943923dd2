// Compiles a plan into rules: names into slots, globs and values into tests, transforms and fields into edits.

internal import Admission
internal import ConsentGate
internal import Editing
internal import Events
internal import Expressions
internal import Matching
internal import Plans
internal import Sampling

struct RulesCompiler {
    private let plan: Plan
    private let wanted: WantedPaths
    private let paths: PathTrie
    private let sessionPaths: PathTrie
    private let store: Store
    private let keys: UnsafeBufferPointer<HMACKey>
    private let resources: StepResources
    private let consent: ConsentSection?

    init(
        _ plan: Plan, wanted: WantedPaths, paths: PathTrie, sessionPaths: PathTrie, store: Store, keepsDigests: Bool,
        consent: ConsentSection?
    ) {
        self.consent = consent
        self.plan = plan
        self.wanted = wanted
        self.paths = paths
        self.sessionPaths = sessionPaths
        self.store = store
        keys = store.list(plan.keys.map { HMACKey($0.secret.bytes) })
        resources = StepResources(keys: keys, sources: plan.sources.map(\.name), keepsDigests: keepsDigests)
    }

    /// Compiles the plan. `numbers` identify the routes in their events. `conditions` has the indices of the routes' expressions.
    func compile(
        subjectKey: SipKey, numbers: [UInt16], conditions: Conditions, expressions: ExpressionSet, memories: RulesMemories
    ) -> (Rules, ProgramCompiler) {
        var edits = EditCompiler(paths: paths, keys: keys, store: store)
        var programs = ProgramCompiler(resources, store: store)
        var sampled: [SampledMember] = []
        let cutsFields = plan.consent?.fields.contains { $0.level > 0 } ?? false
        let routes = zip(plan.routes, numbers).enumerated().map { index, both in
            let (route, number) = both
            return RouteRules(
                number: number,
                events: Globs(route.events, in: store),
                match: store.list(route.match.map { MatchRule($0, slot: slot($0.path), in: store) }),
                not: Exclusion(route.not, slot: slot, in: store),
                searches: searches(route),
                takesRest: route.takesRest,
                matchesType: route.matchesType,
                condition: conditions.filters[index],
                exclusion: conditions.exclusions[index],
                demand: consent?.demand(ofRoute: index) ?? Demand(),
                edits: compileEdits(route, cutsFields: cutsFields, edits: &edits, programs: &programs),
                sample: route.sample.map { sample in
                    let by = SampledMember(slot: sample.by.map(slot) ?? -1, salt: sample.salt)
                    if !sampled.contains(by) { sampled.append(by) }
                    return store.one(
                        SampleRule(
                            sample, member: sampled.firstIndex(of: by)!, limitedSlot: sample.limit?.by.map(slot) ?? -1,
                            keepCondition: conditions.keeps[index], memory: memories.routes[index], in: store))
                },
                session: route.session.map { session in
                    store.one(
                        SessionRule(
                            subject: slot(session.by), place: sessionPaths.slot(of: session.place)!,
                            memory: .passUnretained(memories.sessions(of: session))))
                },
                // A provider is listed only once: a line must not be copied into the parcel that holds it.
                providers: store.list(
                    route.providers.enumerated().filter { !route.providers[..<$0.offset].contains($0.element) }.map(\.element)),
                addsMessageIDs: plan.addsMessageIDs && !route.transforms.contains { $0.paths.contains(wanted.messageID) })
        }
        let emits = zip(plan.emits, conditions.emits).map { compileEmit($0, condition: $1.condition, values: $1.values, &edits) }
        let subjects = plan.consent?.subject.map(slot) ?? []
        precondition(subjects.count <= Subjects.most, "a parcel's entry counts subjects in one byte")
        var index = RouteIndexCompiler(plan.routes, routes, expressions: expressions, slot: slot, store: store)
        let rules = Rules(
            routes: store.list(routes), namesDecide: routes.count <= Rules.mostNamed && routes.allSatisfy { !$0.events.isEmpty },
            index: index.compile(), bounds: store.list(plan.sources.map(compileBounds)),
            nameSlot: paths.slot(of: wanted.name) ?? 0,
            messageIDSlot: paths.slot(of: wanted.messageID) ?? 0,
            immediate: store.list(plan.providers.map { Globs($0.delivery.immediate, in: store) }),
            emits: store.list(emits), markSlot: paths.slot(of: WantedPaths.mark) ?? 0,
            sampled: store.list(sampled), subjects: store.list(subjects), subjectKey: subjectKey,
            edits: store.list(edits.edits), growth: store.list(edits.growth), digests: store.list(edits.digests),
            editedDigests: edits.editedDigests,
            keys: keys, statement: compileStatement())
        return (rules, programs)
    }

    private func searches(_ route: RoutePlan) -> Int {
        let globs = route.events + route.not.events + (route.sample?.keep ?? []) + (route.sample?.rates.map(\.glob) ?? [])
        return Globs(globs, in: store).searches
    }

    /// Returns the routes that events may take, for each key of the source. It is nil for a key that does not limit them.
    private func compileBounds(_ source: SourcePlan) -> UnsafeBufferPointer<UnsafePointer<Bool>?> {
        let keys = source.http?.keys ?? []
        return store.list(
            keys.map { key in key.routes.map { routes in store.list(plan.routes.map { routes.contains($0.name) }).baseAddress! } })
    }

    private func compileEmit(_ plan: EmitPlan, condition: Int, values: [Int], _ edits: inout EditCompiler) -> EmitRule {
        let replaced = Set(plan.members.map { Path(keys: [$0.key]) }).union([wanted.messageID, WantedPaths.properties])
        let edit = edits.add(
            MemberFate([DropStep(Array(replaced)), SetStep(constants: [(path: WantedPaths.mark, json: "true")])], resources))
        var pieces: [EmitPiece] = []
        var text: [UInt8] = []
        var left = values[...]
        for member in plan.members {
            text += [UInt8(ascii: ",")] + Constant.member(Array(member.key.utf8))
            for piece in member.value {
                switch piece {
                case .json(let json): text += Array(json.utf8)
                case .value:
                    pieces.append(EmitPiece(text: store.text(text), expression: left.removeFirst()))
                    text = []
                }
            }
        }
        assert(left.isEmpty, "a value of an emitted event has no place")
        pieces.append(EmitPiece(text: store.text(text), expression: -1))
        return EmitRule(condition: condition, edit: edit, pieces: store.list(pieces))
    }

    private func slot(_ path: Path) -> Int { paths.slot(of: path)! }

    /// Returns the rules for statements to the ledger. Returns nil if there is no ledger.
    private func compileStatement() -> UnsafePointer<ConsentStatementRules>? {
        guard let section = plan.consent, section.ledger != nil else { return nil }
        let tiesUsers = ["userId", "anonymousId"].allSatisfy { section.subject.contains(Path(keys: [$0])) }
        return store.one(ConsentStatementRules(ConsentStatementRules.paths.map { slot(Path(keys: $0)) }, tiesUsers: tiesUsers))
    }

    /// Returns the route's edits for everything that varies from event to event.
    private func compileEdits(
        _ route: RoutePlan, cutsFields: Bool, edits: inout EditCompiler, programs: inout ProgramCompiler
    ) -> EditVariants {
        let middle = route.transforms.contains { !$0.code(resources).isFolded } ? programs.compile(route.transforms) : nil
        let perRate = route.session == nil ? 1 : 2
        let rates = route.writtenRates.count
        let list =
            if cutsFields, let section = plan.consent {
                fieldEdits(route, section: section, middle: middle, edits: &edits, programs: &programs)
            } else {
                editVariants(route, cut: [], middle: middle, edits: &edits, programs: &programs)
            }
        return EditVariants(edits: store.list(list), perLevel: cutsFields ? rates * perRate : 0, perRate: rates > 1 ? perRate : 0)
    }

    /// Returns the route's edits for each level of the event's state. Members that the state does not allow are dropped before the
    /// transforms begin: the event is edited as if it had come without them.
    private func fieldEdits(
        _ route: RoutePlan, section: ConsentPlan, middle: [Int]?, edits: inout EditCompiler, programs: inout ProgramCompiler
    ) -> [Int] {
        var known: [[Path]: [Int]] = [:]
        return section.levels.indices.flatMap { level in
            let cut = section.fields.filter { $0.level > level }.map(\.path)
            if let list = known[cut] { return list }
            let list = editVariants(route, cut: cut, middle: middle, edits: &edits, programs: &programs)
            known[cut] = list
            return list
        }
    }

    /// Returns the route's edits for everything that its sample and its sessions may write. This is written last.
    private func editVariants(
        _ route: RoutePlan, cut: [Path], middle: [Int]?, edits: inout EditCompiler, programs: inout ProgramCompiler
    ) -> [Int] {
        annotations(route).map { annotation in
            if let middle { return EditVariants.edit(ofProgram: programs.add(cut: cut, middle: middle, annotation: annotation)) }
            let cuts: [any Step] = cut.isEmpty ? [] : [DropStep(cut)]
            return edits.add(MemberFate(cuts + route.transforms + (annotation.map { [$0] } ?? []), resources))
        }
    }

    /// Returns what is written into the event for each rate, without a session and with one. Nil means that nothing is written.
    private func annotations(_ route: RoutePlan) -> [SetStep?] {
        route.writtenRates.flatMap { rate in
            var members: [(path: Path, json: String)] = []
            if let path = route.sample?.annotation, let rate { members.append((path, rate == 1 ? "1" : "\(rate)")) }
            let plain = members.isEmpty ? nil : SetStep(constants: members)
            guard let session = route.session else { return [plain] }
            return [plain, SetStep(constants: members + [(path: session.place, json: SessionWriter.placeholder)])]
        }
    }
}

extension RoutePlan {
    /// The rates that can be written into its events. Nil means that no rate is written.
    fileprivate var writtenRates: [Double?] {
        guard let sample, sample.annotation != nil else { return [nil] }
        return sample.possibleRates
    }
}
