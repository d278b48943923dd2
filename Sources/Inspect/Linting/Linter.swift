// Looks at a valid configuration for what is most likely not meant so. It reads the plan for what the file means, and the tree for the places.
// A plan, its tree and the descriptions of its modules in, findings out. A finding never shows a value from outside of the file and of its
// tracking plan.

public import Configuration
internal import Document
internal import PlanTools
public import Plans

public struct Linter {
    let plan: Plan
    let root: Node
    let source: Source
    let modules: [String: ModuleDescription]
    /// Events that satisfy the tracking plan. It is nil if there is no plan.
    let examples: PlanExamples?
    /// The filters of the routes, in order.
    let filters: [EventFilter]
    private(set) var findings: [LintFinding] = []

    /// Returns the findings in the order of the file, without those that the file allows.
    public static func findings(_ document: RoutesFile.Document, modules: [String: ModuleDescription]) -> [LintFinding] {
        var linter = Linter(document, modules)
        linter.checkRoutes()
        linter.checkProviders()
        linter.checkConsent()
        linter.checkPrivacy()
        linter.checkSecrets()
        linter.checkSettings()
        linter.checkExpressions()
        return linter.allowed()
    }

    private init(_ document: RoutesFile.Document, _ modules: [String: ModuleDescription]) {
        (plan, root, source) = (document.plan, document.root, document.source)
        self.modules = modules
        let hasPlan = document.plan.trackingPlan != nil
        examples = hasPlan ? document.trackingPlanText().flatMap { try? PlanExamples($0) } : nil
        filters = document.plan.routes.map(EventFilter.init)
    }

    mutating func report(_ rule: LintRule, _ node: Node, at offset: Int? = nil, _ reason: String, fix: String) {
        findings.append(
            LintFinding(
                rule: rule, offset: offset ?? node.offset, path: node.path.description, reason: Words.visible(plan.hidden.masked(reason)),
                fix: fix))
    }

    // MARK: - Places

    /// The node of a route. The routes of the plan are those of the file, in order.
    func route(_ index: Int) -> Node { root["routes"]!.items![index] }
    /// The node of a provider.
    func provider(_ index: Int) -> Node { root["providers"]!.entries![index].node }

    // MARK: - Allowances

    private func allowed() -> [LintFinding] {
        var allowances: [(number: Node, container: Node, isUsed: Bool)] = []
        var containers = [root]
        for key in ["consent"] { if let node = root[key] { containers.append(node) } }
        for key in ["providers", "sources"] { containers += root[key]?.entries?.map(\.node) ?? [] }
        containers += root["routes"]?.items ?? []
        for container in containers {
            for number in container["lint"]?["allow"]?.items ?? [] { allowances.append((number, container, false)) }
        }
        var left = findings.filter { finding in
            var isAllowed = false
            for index in allowances.indices {
                let one = allowances[index]
                if one.number.text?.value == finding.rule.number, one.container.range.contains(finding.offset) {
                    allowances[index].isUsed = true
                    isAllowed = true
                }
            }
            return !isAllowed
        }
        for one in allowances where !one.isUsed {
            let number = one.number.text?.value ?? ""
            left.append(
                LintFinding(
                    rule: .unusedAllowance, offset: one.number.offset, path: one.number.path.description,
                    reason: "there is no finding \(number) here", fix: "remove it"))
        }
        return left.enumerated().sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }.map(\.element)
    }
}
