// The shape of the flow as JSON: which route sends to which providers. The numbers are in the status. It has names only, and no settings.

internal import Plans
internal import Platform

struct FlowText {
    private let plan: Plan

    init(_ plan: Plan) { self.plan = plan }

    var json: String {
        let routes = plan.routes.map { route in
            let targets = route.providers.map { jsonQuoted(plan.providers[$0].name) }
            return
                "{\"name\":\(jsonQuoted(route.name)),\"asks_consent\":\(route.consent != nil),\"to\":[\(targets.joined(separator: ","))]}"
        }
        let providers = plan.providers.map { "{\"name\":\(jsonQuoted($0.name)),\"plugin\":\(jsonQuoted($0.plugin))}" }
        let sources = plan.sources.map { "{\"name\":\(jsonQuoted($0.name)),\"plugin\":\(jsonQuoted($0.plugin))}" }
        return "{\"sources\":[\(sources.joined(separator: ","))],\"routes\":[\(routes.joined(separator: ","))],"
            + "\"providers\":[\(providers.joined(separator: ","))]}\n"
    }
}
