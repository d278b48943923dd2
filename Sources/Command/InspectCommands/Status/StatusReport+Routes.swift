// Writes what a route has decided so far, as JSON for `status`: its verdicts, summed by the words that `explain` uses.

internal import Judging
internal import Platform
internal import Router

extension StatusReport {
    func json(_ route: RouterStatus.Route) -> String {
        var sums: [(word: String, count: Int)] = [("admitted", 0), ("filtered", 0), ("denied", 0)]
        for (verdict, count) in zip(Tally.columns, route.verdicts) {
            let word: String
            switch verdict {
            case .filtered: word = "filtered"
            case .denied: word = "denied"
            default: word = verdict.key
            }
            if let index = sums.firstIndex(where: { $0.word == word }) { sums[index].count += count } else { sums.append((word, count)) }
        }
        let members = sums.map { "\"\($0.word)\":\($0.count)" }
        return "{\"name\":\(jsonQuoted(route.name)),\(members.joined(separator: ","))}"
    }
}
