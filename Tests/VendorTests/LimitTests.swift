import PluginKit
import Testing
import VendorSupport

/// 2026-11-21T05:49:24Z.
private let now: Int64 = 1_795_240_164_000_000_000

@Suite("What a vendor declares to refuse and to cut")
struct LimitTests {
    private func cases(_ vendor: VendorCase, of rows: [LimitRow]) throws -> [LimitCase] {
        try #require(LimitCase.all[vendor.description]).filter { one in rows.contains { $0.what == one.row.what } }
    }

    @Test("each row has an event that tries it, and each such event a row", arguments: VendorCase.all)
    func complete(_ vendor: VendorCase) throws {
        func texts(_ rows: [LimitRow]) -> [String] { rows.map { "\($0.topic) \($0.most ?? 0) \($0.what)" }.sorted() }
        #expect(texts(vendor.refuses + vendor.cuts) == texts(try #require(LimitCase.all[vendor.description]).map(\.row)))
    }

    @Test("an event just over a limit is refused for that reason, and one just under it is not", arguments: VendorCase.all)
    func refused(_ vendor: VendorCase) throws {
        for one in try cases(vendor, of: vendor.refuses) {
            let (most, settings) = (one.row.most ?? 0, [vendor.settings, one.settings].filter { !$0.isEmpty }.joined(separator: ","))
            let refused = try vendor.map(settings, [one.over(most), one.under(most)], now).refused
            #expect(refused[0]?.contains(one.because) == true && refused[1] == nil, "\(one.row.what): \(refused)")
            guard let lifted = one.lifted else { continue }
            #expect(try vendor.map("\(settings),\(lifted)", [one.over(most)], now).refused == [:], "\(one.row.what)")
        }
    }

    @Test("an event just over a limit is sent with a loss that is named, and one just under it without one", arguments: VendorCase.all)
    func cut(_ vendor: VendorCase) throws {
        for one in try cases(vendor, of: vendor.cuts) {
            let (most, settings) = (one.row.most ?? 0, [vendor.settings, one.settings].filter { !$0.isEmpty }.joined(separator: ","))
            let instance = try vendor.instance(settings, "http://vendor.invalid")
            defer { instance.close() }
            let preview = try #require(instance.preview([one.over(most), one.under(most)]))
            #expect(preview.refused == [:], "\(one.row.what)")
            let losses = preview.losses.mapValues { $0.filter { $0.contains(one.because) } }
            #expect(losses[0]?.count == 1 && losses[1]?.isEmpty ?? true, "\(one.row.what): \(preview.losses)")
        }
    }
}
