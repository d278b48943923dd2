// The form of the key `plan`: the file of the tracking plan, which is read with the configuration. A fault in that file is reported at the key,
// with its place in the file. Also the check that no route lets a private member of the plan leave as it came.

internal import Document
internal import Editing
internal import Events
internal import Expressions
internal import FormReading
internal import Matching
internal import Plans
internal import TrackingPlans

enum TrackingPlanForms {
    static let plan = Form<TrackingPlan>(SchemaParts.text) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        if text.isTainted {
            reading.fault(node, "the name of the file must be written out, without ${env:} and ${file:}")
            return nil
        }
        let file = Words.shortened(text.value, 200)
        switch reading.contents(text.value) {
        case .failure(let fault): reading.fault(node, "\(Words.quoted(file)) cannot be read: \(fault)")
        case .success(let bytes) where bytes.count > Placeholders.mostBytes:
            reading.fault(node, "\(Words.quoted(file)) is larger than 1MB")
        case .success(let bytes):
            switch PlanFile.read(bytes) {
            case .success(let plan): return plan
            case .failure(let faults):
                for fault in faults.faults { reading.fault(node, "\(file):\(fault.line):\(fault.column): \(fault.message)") }
            }
        }
        return nil
    }

    // MARK: - Private members

    /// Reports each route by which a private member can leave as it came, and each rule of `emit` that copies one.
    static func checkPrivate(_ plan: Plan, node: Node, reading: Reading) {
        guard let members = plan.trackingPlan?.privateMembers, !members.isEmpty else { return }
        if let nodes = node["routes"]?.items, nodes.count == plan.routes.count {
            for (node, route) in zip(nodes, plan.routes) {
                for member in members where mayTake(route, member.event) {
                    guard let left = Exposure(of: member.path, on: route).place else { continue }
                    let moved = left == member.path ? "" : ", as \(left),"
                    reading.fault(
                        node,
                        "\(member.path) of \(Words.quoted(member.event)) is private by the plan and would leave\(moved) as it came: "
                            + "drop, hash, bin, round, ip or geo it")
                    break
                }
            }
        }
        if let nodes = node["emit"]?.items, nodes.count == plan.emits.count {
            for (node, emit) in zip(nodes, plan.emits) {
                let read = emit.values.flatMap(\.paths)
                guard let member = members.first(where: { member in read.contains { $0.overlaps(member.path) } }) else { continue }
                reading.fault(node, "copies \(member.path) of \(Words.quoted(member.event)), which is private by the plan")
            }
        }
    }

    /// Returns false only if the name alone keeps the event from the route.
    private static func mayTake(_ route: RoutePlan, _ event: String) -> Bool {
        let store = Store()
        // The name and the globs lie in the store.
        return withExtendedLifetime(store) {
            let name = store.text(Array(event.utf8))
            if !route.events.isEmpty, !Globs(route.events, in: store).match(name) { return false }
            return route.not.events.isEmpty || !Globs(route.not.events, in: store).match(name)
        }
    }
}

/// Where the value of a member is after the transform of a route, unless it was removed, hashed or made coarser.
private struct Exposure {
    private var paths: Set<Path>

    /// The first place at which the value leaves. It is nil if it does not.
    var place: Path? { paths.min { $0.description < $1.description } }

    init(of path: Path, on route: RoutePlan) {
        paths = [path]
        for step in route.transforms { apply(step) }
    }

    private mutating func apply(_ step: any Step) {
        let copies = step.readPaths.contains { read in paths.contains { $0.overlaps(read) } }
        for effect in step.effects({ $0 }) {
            switch effect.kind {
            case .removed: paths = paths.filter { path in !effect.paths.contains { $0.isAtOrAbove(path) } }
            case .kept: paths = paths.filter { path in effect.paths.contains { $0.overlaps(path) } }
            case .changed where effect.hides: paths.subtract(effect.paths)
            case .changed: if copies { paths.formUnion(effect.paths) }
            case .written:
                if copies {
                    paths.formUnion(effect.paths)
                } else {
                    paths = paths.filter { path in !effect.paths.contains { $0.isAtOrAbove(path) } }
                }
            case .moved(let to):
                for from in effect.paths {
                    for path in paths where from.isAtOrAbove(path) {
                        paths.remove(path)
                        paths.insert(Path(keys: to.keys + path.keys.dropFirst(from.keys.count)))
                    }
                }
            }
        }
    }
}

extension Path {
    /// Returns true if the other path is this one or lies below it.
    fileprivate func isAtOrAbove(_ other: Path) -> Bool { other.keys.starts(with: keys) }

    /// Returns true if one of the two paths is the other one or lies below it.
    fileprivate func overlaps(_ other: Path) -> Bool { isAtOrAbove(other) || other.isAtOrAbove(self) }
}
