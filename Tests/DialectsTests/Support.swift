// What the tests of every dialect need: a body in, its lines and faults as Swift values.

import Dialects
import Events
import Foundation
import Testing

/// 2026-11-21T06:00:00.000Z.
let received: Int64 = 1_795_240_800_000_000_000

struct Translated {
    var lines: [String]
    /// For each event of the body: its line, or its fault as `offset: message`.
    var results: [String]
    var refusal: String?
    var writeKey: String?
    var isEveryLineAnEvent: Bool
}

func translate(
    _ body: [UInt8], _ dialect: any Dialect, ip: String? = nil, wanted: [Path] = [], limits: TranslationLimits = TranslationLimits()
) -> Translated {
    // Of exactly its size, so that the address sanitizer sees a read beyond.
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: body.count, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: body)
    var translator = Translator(wanted: wanted, limits: limits)
    var translation = Translation()
    // Twice, so that nothing is left over from a body before.
    for _ in 0..<2 {
        translator.translate(UnsafeRawBufferPointer(memory), from: dialect, RequestContext(time: received, ip: ip), into: &translation)
    }
    let text = String(decoding: translation.lines.bytes, as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    let results = translation.results.map { result in
        switch result {
        case .line(let i): lines[i]
        case .fault(let i): "\(translation.faults[i].offset): \(translation.faults[i].message)"
        }
    }
    return Translated(
        lines: lines, results: results, refusal: translation.refusal.map { "\($0.offset): \($0.message)" },
        writeKey: translation.writeKey, isEveryLineAnEvent: text.isEmpty || areEvents(translation.lines, wanted, lines.count))
}

func translate(
    _ body: String, _ dialect: any Dialect, ip: String? = nil, wanted: [Path] = [], limits: TranslationLimits = TranslationLimits()
) -> Translated {
    translate(Array(body.utf8), dialect, ip: ip, wanted: wanted, limits: limits)
}

private func areEvents(_ lines: borrowing ByteBuffer, _ wanted: [Path], _ count: Int) -> Bool {
    var block = Block()
    block.text.append(contentsOf: lines.bytes)
    block.seal()
    var scanner = Scanner(PathTrie(wanted))
    var start: UInt32 = 0
    var events = 0
    while Int(start) < block.count {
        if scanner.scan(block.bytes, start) == nil { return false }
        events += 1
        start = scanner.lineEnd + 1
    }
    return events == count
}

func sample(_ name: String) throws -> [UInt8] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    return Array(try Data(contentsOf: folder.appendingPathComponent("Samples/\(name)")))
}

func path(_ text: String) -> Path {
    do { return try Path(parsing: text) } catch { fatalError("\(error)") }
}
