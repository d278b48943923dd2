// The consent section of a plan, compiled together with what its routes demand: what every worker's gate and the second check go by. It owns
// the memory that they point to and never changes.

public import Admission
public import Events
internal import Matching
public import Plans

public final class ConsentSection: @unchecked Sendable {
    let rules: UnsafePointer<Gate.Rules>
    /// By index of the route: its number in the run, and what it demands.
    let routes: [(number: UInt16, demand: Demand)]
    /// The plan's levels and purposes, by name.
    public let vocabulary: ConsentVocabulary
    private let store: Store

    /// `numbers`: those of the plan's routes in the run; `levels`: the names of the run's levels, by which entries say what they were
    /// admitted under; `slot`: where the scanner notes a member, nil for members that it does not look for. Nil: the plan has no such section.
    public init?(_ plan: Plan, numbers: [UInt16], levels: RunNames, slot: (Path) -> Int?) {
        guard let section = plan.consent else { return nil }
        let store = Store()
        self.store = store
        let consent = ConsentRules(
            section, demands: plan.routes.compactMap(\.consent), slots: ConsentRules.Members.paths.map { slot(Path(keys: $0)) ?? 0 },
            unknownSlot: section.unknownBy.flatMap { slot($0.path) } ?? 0, in: store)
        let raises = section.events.enumerated().filter { $0.element.level > 0 }.map { index, event in
            Gate.Raise(globs: Globs([event.glob], in: store), level: event.level, index: index)
        }
        let admission = AdmissionRules(
            width: consent.width, cutsFields: section.fields.contains { $0.level > 0 },
            keeps: store.list(section.levels.indices.map { level in section.fields.map(\.level).filter { $0 <= level }.max() ?? 0 }),
            entryLevels: store.list(
                section.levels.indices.map { $0 == 0 ? EntryLevel.none : EntryLevel.entry(of: levels.number(of: section.levels[$0].name)) })
        )
        rules = store.one(Gate.Rules(consent: consent, raises: store.list(raises), admission: admission))
        vocabulary = ConsentVocabulary(section, purposes: consent.names.map { String(decoding: $0.bytes, as: UTF8.self) })
        routes = zip(numbers, plan.routes).map { number, route in
            // A route that nothing covers demands all there is.
            let demand = route.consent ?? ConsentDemand(level: section.levels.count - 1)
            return (number, Demand(level: demand.level, purposes: demand.purposes.isEmpty ? nil : consent.set(demand.purposes, in: store)))
        }
    }

    /// What the route of this index demands.
    public func demand(ofRoute index: Int) -> Demand { routes[index].demand }

    /// The members that carry consent, which the scanner must look for where some rule asks for consent.
    public static var paths: [Path] { ConsentRules.Members.paths.map(Path.init(keys:)) }
}
