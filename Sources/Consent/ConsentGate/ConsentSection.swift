// The consent section of a plan, compiled together with the demands of its routes, for the gates of the workers and for the second check.
// It owns the memory that they point to, and never changes.

public import Admission
public import Events
internal import Matching
public import Plans

public final class ConsentSection: @unchecked Sendable {
    let rules: UnsafePointer<Gate.Rules>
    /// For each route, its number in the run and its demand.
    let routes: [(number: UInt16, demand: Demand)]
    /// The plan's levels and purposes, by name.
    public let vocabulary: ConsentVocabulary
    /// The members that carry consent, and those with ids of subjects, by their numbers.
    let members: [ConsentMember]
    /// The number of the first member with an id of a subject.
    let firstSubject: Int
    private let store: Store

    /// Compiles the section. `numbers` has the numbers of the plan's routes in the run. `levels` has the names of the run's levels, which
    /// entry levels refer to. `slot` returns the slot of a member, or nil if the scanner does not look for it. Returns nil if the plan has
    /// no consent section.
    public init?(_ plan: Plan, numbers: [UInt16], levels: RunNames, slot: @escaping (Path) -> Int?) {
        guard let section = plan.consent else { return nil }
        let store = Store()
        self.store = store
        members = ConsentMember.all + ConsentMember.own(section)
        firstSubject = members.count - section.subject.count
        let found: (Path) -> Int = { slot($0) ?? 0 }
        let consent = ConsentRules(section, demands: plan.routes.compactMap(\.consent), slot: found, in: store) {
            CompiledSignals(ConsentMember.all.map { slot($0.path) ?? 0 }, $0)
        }
        let raises = section.events.enumerated().filter { $0.element.level > 0 }.map { index, event in
            Gate.RaisedLevel(globs: Globs([event.glob], in: store), level: event.level, index: index)
        }
        let admission = AdmissionRules(
            width: consent.width, cutsFields: section.fields.contains { $0.level > 0 },
            keeps: store.list(section.levels.indices.map { level in section.fields.map(\.level).filter { $0 <= level }.max() ?? 0 }),
            entryLevels: store.list(
                section.levels.indices.map { $0 == 0 ? EntryLevel.none : EntryLevel.entry(of: levels.number(of: section.levels[$0].name)) })
        )
        let fields = section.fields.filter { $0.level > 0 }.sorted { $0.level > $1.level }.map { field in
            guard let slot = slot(field.path) else { preconditionFailure("the scanner does not look for a member that is cut") }
            return Gate.Field(slot: slot, level: field.level)
        }
        rules = store.one(
            Gate.Rules(consent: consent, raises: store.list(raises), fields: store.list(fields), admission: admission))
        vocabulary = ConsentVocabulary(section, purposes: consent.names.map { String(decoding: $0.bytes, as: UTF8.self) })
        precondition(numbers.count == plan.routes.count, "a route has no number")
        routes = zip(numbers, plan.routes).map { number, route in
            // A route without a demand demands the highest level.
            let demand = route.consent ?? ConsentDemand(level: section.levels.count - 1)
            return (number, Demand(level: demand.level, purposes: demand.purposes.isEmpty ? nil : consent.set(demand.purposes, in: store)))
        }
    }

    /// Returns the demand of the route at this index.
    public func demand(ofRoute index: Int) -> Demand { routes[index].demand }

    /// The members that carry consent by the plan. The scanner must look for them if a rule needs consent.
    public static func paths(_ plan: ConsentPlan) -> [Path] {
        ConsentMember.all.map(\.path) + plan.map.memberPaths + (plan.unknownBy.map { [$0.path] } ?? [])
    }
}
