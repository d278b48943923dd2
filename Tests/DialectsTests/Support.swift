// The common tools of the tests of all dialects. They translate a body and return its lines and faults as Swift values.

import Dialects
import Events
import Foundation
import Testing

/// 2026-11-21T06:00:00.000Z.
let received: Int64 = 1_795_240_800_000_000_000

struct Translated {
    var lines: [String]
    /// The line or the fault of each event of the body. A fault is written as `offset: message`.
    var results: [String]
    var refusal: String?
    var writeKey: String?
    var isEveryLineAnEvent: Bool
}

func translate(
    _ body: [UInt8], _ dialect: any Dialect, ip: String? = nil, isPrivate: Bool = false, wanted: [Path] = [],
    limits: TranslationLimits = TranslationLimits()
) -> Translated {
    // The memory has exactly the size of the body, so that the address sanitizer detects a read beyond it.
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: body.count, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: body)
    var translator = Translator(wanted: wanted, limits: limits)
    var translation = Translation()
    // The body is translated twice, to prove that nothing is left over from an earlier body.
    for _ in 0..<2 {
        translator.translate(
            UnsafeRawBufferPointer(memory), from: dialect, RequestContext(time: received, ip: ip, isPrivate: isPrivate), into: &translation)
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
    _ body: String, _ dialect: any Dialect, ip: String? = nil, isPrivate: Bool = false, wanted: [Path] = [],
    limits: TranslationLimits = TranslationLimits()
) -> Translated {
    translate(Array(body.utf8), dialect, ip: ip, isPrivate: isPrivate, wanted: wanted, limits: limits)
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
