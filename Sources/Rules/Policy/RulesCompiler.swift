// Turns a plan into rules: names into slots, globs and values into tests, transforms and fields into edits.

internal import Configuration
internal import Events

struct RulesCompiler {
    private let plan: Plan
    private let wanted: WantedPaths
    private let paths: PathTrie
    private let sessionPaths: PathTrie
    private let store: Store
    private let keys: UnsafeBufferPointer<HMACKey>
    private let keepsDigests: Bool
    private let levels: RunNames

    init(
        _ plan: Plan, _ wanted: WantedPaths, _ paths: PathTrie, sessionPaths: PathTrie, _ store: Store, keepsDigests: Bool,
        levels: RunNames
    ) {
        self.keepsDigests = keepsDigests
        self.levels = levels
        self.plan = plan
        self.wanted = wanted
        self.paths = paths
        self.sessionPaths = sessionPaths
        self.store = store
        keys = store.list(plan.keys.map { HMACKey($0.secret.bytes) })
    }

    /// `numbers`: what the events of each route carry to tell that they came by it; `conditions`: which of the ruleset's
    /// expressions are theirs.
    func compile(subjectKey: SipKey, numbers: [UInt16], conditions: Conditions, memories: RulesMemories) -> (Rules, ProgramCompiler) {
        var edits = EditCompiler(paths: paths, keys: keys, store: store)
        var programs = ProgramCompiler(keys: keys, store: store, sources: plan.sources.map(\.name), keepsDigests: keepsDigests)
        var sampled: [Int] = []
        let consent = compileConsent()
        let routes = zip(plan.routes, numbers).enumerated().map { index, both in
            let (route, number) = both
            return RouteRules(
                number: number,
                events: Globs(route.events, in: store),
                match: store.list(route.match.map { MatchRule($0, slot: slot($0.path), in: store) }),
                not: Exclusion(route.not, slot: slot, in: store),
                takesRest: route.takesRest,
                condition: conditions.filters[index],
                gate: compileGate(route, consent, &edits, &programs),
                sample: route.sample.map { sample in
                    let by = sample.by.map(slot) ?? -1
                    if !sampled.contains(by) { sampled.append(by) }
                    return store.one(
                        SampleRule(
                            sample, member: sampled.firstIndex(of: by)!, keepCondition: conditions.keeps[index],
                            memory: memories.routes[index], in: store))
                },
                session: route.session.map { session in
                    store.one(
                        SessionRule(
                            subject: slot(session.by), place: sessionPaths.slot(of: session.place)!,
                            memory: .passUnretained(memories.sessions(of: session))))
                },
                // Each once: a line that is copied must not be copied into the parcel where it lies.
                providers: store.list(
                    route.providers.enumerated().filter { !route.providers[..<$0.offset].contains($0.element) }.map(\.element)),
                addsMessageIDs: plan.addsMessageIDs && !route.transforms.contains { $0.paths.contains(wanted.messageID) })
        }
        let emits = zip(plan.emits, conditions.emits).map { compileEmit($0, condition: $1.condition, values: $1.values, &edits) }
        let subjects = plan.consent?.subject.map(slot) ?? []
        precondition(subjects.count <= Subjects.most, "a parcel's entry counts subjects in one byte")
        let rules = Rules(
            routes: store.list(routes), namesDecide: routes.count <= Rules.mostNamed && routes.allSatisfy { !$0.events.isEmpty },
            bounds: store.list(plan.sources.map(compileBounds)), gate: consent.map(store.one),
            nameSlot: paths.slot(of: wanted.name) ?? 0,
            messageIDSlot: paths.slot(of: wanted.messageID) ?? 0,
            immediate: store.list(plan.providers.map { Globs($0.delivery.immediate, in: store) }),
            emits: store.list(emits), markSlot: paths.slot(of: WantedPaths.mark) ?? 0,
            sampled: store.list(sampled), subjects: store.list(subjects), subjectKey: subjectKey,
            edits: store.list(edits.edits), growth: store.list(edits.growth), digests: store.list(edits.digests), rooms: edits.rooms,
            keys: keys, speech: compileSpeech())
        return (rules, programs)
    }

    /// By key of the source.
    private func compileBounds(_ source: SourcePlan) -> UnsafeBufferPointer<UnsafePointer<Bool>> {
        let keys = source.http?.keys ?? []
        return store.list(keys.map { key in store.list(plan.routes.map { key.routes?.contains($0.name) ?? true }).baseAddress! })
    }

    private func compileEmit(_ plan: EmitPlan, condition: Int, values: [Int], _ edits: inout EditCompiler) -> EmitRule {
        let replaced = Set(plan.members.map { Path(keys: [$0.key]) }).union([wanted.messageID, WantedPaths.properties])
        let edit = edits.add(Fate([.drop(Array(replaced)), .set([(path: WantedPaths.mark, json: "true")])], keys: keys))
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
        pieces.append(EmitPiece(text: store.text(text), expression: -1))
        return EmitRule(condition: condition, edit: edit, pieces: store.list(pieces))
    }

    private func slot(_ path: Path) -> Int { paths.slot(of: path)! }

    /// nil: no ledger is kept.
    private func compileSpeech() -> UnsafePointer<SpeechRules>? {
        guard let section = plan.consent, section.ledger != nil else { return nil }
        let tiesUsers = ["userId", "anonymousId"].allSatisfy { section.subject.contains(Path(keys: [$0])) }
        return store.one(SpeechRules(SpeechRules.paths.map { slot(Path(keys: $0)) }, tiesUsers: tiesUsers))
    }

    private func compileConsent() -> Gate.Rules? {
        guard let section = plan.consent else { return nil }
        let slots = ConsentRules.Members.paths.map { wanted.consent ? slot(Path(keys: $0)) : 0 }
        return Gate.Rules(
            consent: ConsentRules(
                section, demands: plan.routes.compactMap(\.consent), slots: slots,
                unknownSlot: wanted.consent ? section.unknownBy.map { slot($0.path) } ?? 0 : 0, in: store),
            raises: store.list(
                section.events.enumerated().filter { $0.element.level > 0 }.map { index, event in
                    Gate.Raise(globs: Globs([event.glob], in: store), level: event.level, index: index)
                }),
            cutsFields: section.fields.contains { $0.level > 0 },
            keeps: store.list(section.levels.indices.map { level in section.fields.map(\.level).filter { $0 <= level }.max() ?? 0 }),
            entryLevels: store.list(
                section.levels.indices.map { $0 == 0 ? EntryLevel.none : EntryLevel.entry(of: levels.number(of: section.levels[$0].name)) })
        )
    }

    private func compileGate(
        _ route: RoutePlan, _ consent: Gate.Rules?, _ edits: inout EditCompiler, _ programs: inout ProgramCompiler
    ) -> RouteGate {
        let middle = route.transforms.contains(where: \.isStep) ? programs.compile(route.transforms) : nil
        let perRate = route.session == nil ? 1 : 2
        let rates = route.writtenRates.count
        let (variants, stride) = (rates * perRate, rates > 1 ? perRate : 0)
        guard let section = plan.consent, let consent else {
            return RouteGate(
                edits: store.list(editVariants(route, cut: [], middle, &edits, &programs)), variants: variants, stride: stride)
        }
        // A route that nothing covers demands all there is.
        let demand = route.consent ?? ConsentDemand(level: section.levels.count - 1)
        return RouteGate(
            level: demand.level,
            purposes: demand.purposes.isEmpty ? nil : consent.consent.set(demand.purposes, in: store),
            edits: store.list(fieldEdits(route, section, middle, &edits, &programs)), variants: variants, stride: stride)
    }

    /// The route's edits by the level of the event's state. What the state does not allow is dropped before the
    /// transforms begin: the event is edited as if it had come without.
    private func fieldEdits(
        _ route: RoutePlan, _ section: ConsentPlan, _ middle: [Int]?, _ edits: inout EditCompiler, _ programs: inout ProgramCompiler
    ) -> [Int] {
        guard section.fields.contains(where: { $0.level > 0 }) else { return editVariants(route, cut: [], middle, &edits, &programs) }
        var known: [[Path]: [Int]] = [:]
        return section.levels.indices.flatMap { level in
            let cut = section.fields.filter { $0.level > level }.map(\.path)
            if let list = known[cut] { return list }
            let list = editVariants(route, cut: cut, middle, &edits, &programs)
            known[cut] = list
            return list
        }
    }

    /// The route's edits by what its sample and its sessions write on the event, last of all.
    private func editVariants(
        _ route: RoutePlan, cut: [Path], _ middle: [Int]?, _ edits: inout EditCompiler, _ programs: inout ProgramCompiler
    ) -> [Int] {
        annotations(route).map { annotation in
            if let middle { return Admitted.edit(ofProgram: programs.add(cut: cut, middle: middle, annotation: annotation)) }
            let transforms = (cut.isEmpty ? [] : [.drop(cut)]) + route.transforms + (annotation.map { [$0] } ?? [])
            return edits.add(Fate(transforms, keys: keys))
        }
    }

    /// By rate, without a session and with one: what is written on the event; nil: nothing.
    private func annotations(_ route: RoutePlan) -> [TransformPlan?] {
        route.writtenRates.flatMap { rate in
            var members: [(path: Path, json: String)] = []
            if let path = route.sample?.annotation, let rate { members.append((path, rate == 1 ? "1" : "\(rate)")) }
            let plain = members.isEmpty ? nil : TransformPlan.set(members)
            return [plain] + (route.session.map { [.set(members + [(path: $0.place, json: SessionWriter.room)])] } ?? [])
        }
    }
}

extension RoutePlan {
    /// The rates that can stand on its events; nil: none.
    fileprivate var writtenRates: [Double?] {
        guard let sample, sample.annotation != nil else { return [nil] }
        return sample.possibleRates
    }
}
