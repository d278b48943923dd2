// The configurations in the documents are valid.

import Foundation
import TestSupport
import Testing

@Suite("The documents", .timeLimit(.minutes(20)))
struct DocumentTests {
    static let pages: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: Project.root + "/docs")) ?? []
        return ["README.md"] + names.filter { $0.hasSuffix(".md") }.sorted().map { "docs/" + $0 }
    }()

    /// The whole configurations of a page: the blocks of JSON that have providers and routes. The other blocks are parts of one.
    private func configurations(of page: String) throws -> [String] {
        let text = try String(contentsOfFile: Project.root + "/" + page, encoding: .utf8)
        return text.components(separatedBy: "```json\n").dropFirst().compactMap { rest in
            let block = rest.components(separatedBy: "```")[0]
            let value = try? JSONSerialization.jsonObject(with: Data(block.utf8)) as? [String: Any]
            return value?["providers"] != nil && value?["routes"] != nil ? block : nil
        }
    }

    @Test("every whole configuration on a page passes check", arguments: pages)
    func configurations(page: String) throws {
        for text in try configurations(of: page) {
            let names = text.components(separatedBy: "${env:").dropFirst().map { $0.components(separatedBy: "}")[0] }
            let environment = Dictionary(names.map { ($0, "0123456789abcdef-\($0)") }, uniquingKeysWith: { first, _ in first })
            let router = try TestRouter()
            // What a file holds is not part of the page.
            let files = text.components(separatedBy: "${file:").dropFirst().map { $0.components(separatedBy: "}")[0] }
            var own = text
            for (index, file) in files.enumerated() {
                try router.write("0123456789abcdef-\(index)", to: "secret-\(index)")
                own = own.replacingOccurrences(of: "${file:\(file)}", with: "${file:\(router.path("secret-\(index)"))}")
            }
            try router.write(own, to: "routes.json")
            let result = try router.run(["check"], environment: environment)
            #expect(result.code == 0, "\(page): \(text)\n\(result.errors)")
        }
    }

    @Test("the pages have configurations to check")
    func some() throws {
        let count = try DocumentTests.pages.map { try configurations(of: $0).count }.reduce(0, +)
        #expect(count >= 5, "\(count)")
    }
}
