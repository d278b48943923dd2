// Resolves `${env:NAME}` and `${file:PATH}` in string values; `$${` means a plain `${`. Its messages never show the resolved text.

/// The reason why a placeholder, or the file that it names, gives no text.
public struct PlaceholderFault: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

public struct Placeholders {
    public var environment: (String) -> String?
    public var contents: (String) -> Result<[UInt8], PlaceholderFault>

    public init(
        environment: @escaping (String) -> String?, contents: @escaping (String) -> Result<[UInt8], PlaceholderFault>
    ) {
        self.environment = environment
        self.contents = contents
    }

    public static let mostBytes = 1_000_000
    private static let start = Array("${".utf8)

    /// Resolves the text in place and returns the faults. `offset` is the offset of the string's token in the file.
    func resolve(_ text: inout Node.Text, at offset: Int) -> [LocatedFault] {
        let written = Array(text.written.utf8)
        guard written.contains(UInt8(ascii: "$")) else { return [] }
        var faults: [LocatedFault] = []
        var value: [UInt8] = []
        var next = 0
        func begins(_ pattern: [UInt8], _ index: Int) -> Bool { written[index...].starts(with: pattern) }

        while next < written.count {
            if begins([UInt8(ascii: "$")] + Placeholders.start, next) {
                value += Placeholders.start
                next += 3
                continue
            }
            guard begins(Placeholders.start, next) else {
                value.append(written[next])
                next += 1
                continue
            }
            let place = text.isPlain ? offset + 1 + next : offset
            guard let end = written[next...].firstIndex(of: UInt8(ascii: "}")) else {
                faults.append(LocatedFault(offset: place, message: "a placeholder is not closed, expected '}'; a plain ${ is written $${"))
                text.isBroken = true
                break
            }
            switch self.value(of: String(decoding: written[(next + 2)..<end], as: UTF8.self)) {
            case .success(let bytes):
                value += bytes
                text.isTainted = true
                text.insertions.append(String(decoding: bytes, as: UTF8.self))
            case .failure(let fault):
                faults.append(LocatedFault(offset: place, message: fault.description))
                text.isBroken = true
            }
            next = end + 1
        }
        let resolved = String(decoding: value, as: UTF8.self)
        if text.isTainted || resolved != text.written {
            text.value = resolved
            (text.isPlain, text.isVerbatim) = (false, false)
        }
        return faults
    }

    private func value(of placeholder: String) -> Result<[UInt8], PlaceholderFault> {
        let shown = "${\(Words.shortened(placeholder, 200))}"
        if let name = placeholder.after("env:"), !name.isEmpty {
            guard let value = environment(name) else {
                return .failure(PlaceholderFault("\(shown): the environment variable \(Words.quoted(name)) is not set"))
            }
            return .success(Array(value.utf8))
        }
        if let path = placeholder.after("file:"), !path.isEmpty {
            switch contents(path) {
            case .failure(let fault): return .failure(PlaceholderFault("\(shown): the file cannot be read: \(fault)"))
            case .success(var bytes):
                if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
                guard bytes.count <= Placeholders.mostBytes else {
                    return .failure(PlaceholderFault("\(shown): the file is larger than 1MB"))
                }
                guard String(validating: bytes, as: UTF8.self) != nil else {
                    return .failure(PlaceholderFault("\(shown): the file is not UTF-8 text"))
                }
                return .success(bytes)
            }
        }
        return .failure(PlaceholderFault("\(shown): no such placeholder, expected ${env:NAME} or ${file:PATH}; a plain ${ is written $${"))
    }
}

extension String {
    fileprivate func after(_ prefix: String) -> String? { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil }
}
