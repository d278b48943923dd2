// Makes wrong settings: one for each way in which settings can violate the module's own schema.

import Document
import Plans

struct WrongSettings {
    var way: String
    var settings: [String: String]

    /// Returns copies of the good settings, each with one fault.
    static func all(of rules: SettingsSchema.ObjectRules, good: [String: String]) -> [WrongSettings] {
        var result: [WrongSettings] = []
        func put(_ way: String, _ name: String, _ value: String?) {
            var settings = good
            settings[name] = value
            result.append(WrongSettings(way: way, settings: settings))
        }
        if rules.others == nil { put("a key that it does not know", "no_such_key", "1") }
        for (name, schema, isRequired) in rules.members {
            if isRequired { put("without '\(name)'", name, nil) }
            for (way, value) in wrong(schema) { put("'\(name)' is \(way)", name, value) }
        }
        return result
    }

    private static func wrong(_ schema: SettingsSchema) -> [(String, String)] {
        switch schema {
        case .string(let rules):
            var ways: [(String, String)] = [("a number", "7"), ("a list", #"["x"]"#)]
            switch rules.format {
            case .plain: break
            case .size, .duration: ways += [("without a unit", #""12""#), ("of an unknown unit", #""12 parsecs""#)]
            case .expression, .condition: ways += [("no expression", #""( ""#), ("an unknown function", #""nothing(1)""#)]
            }
            if !rules.oneOf.isEmpty { ways.append(("not one of its choices", #""none of the choices""#)) }
            return ways
        case .number(let rules):
            var ways: [(String, String)] = [("text", #""seven""#), ("an object", #"{"x":1}"#)]
            if rules.integer { ways.append(("a fraction", "1.5")) }
            if let least = rules.minimum { ways.append(("below its minimum", "\(least - 1)")) }
            if let most = rules.maximum { ways.append(("above its maximum", "\(most + 1)")) }
            return ways
        case .boolean: return [("text", #""yes""#), ("a number", "1")]
        case .list: return [("text", #""x""#), ("an object", #"{"x":1}"#)]
        case .object(let rules):
            let inner = all(of: rules, good: [:]).map { wrong in
                let members = wrong.settings.sorted { $0.key < $1.key }.map { (name: $0.key, json: $0.value) }
                return ("an object with \(wrong.way)", JSONText.object(members))
            }
            return [("text", #""x""#), ("a list", #"["x"]"#)] + inner
        case .either(let choices, _):
            // What is wrong for one alternative can be right for another one.
            return choices.flatMap { choice -> [(String, String)] in
                guard case .object = choice else { return [] }
                return wrong(choice).filter { $0.1.hasPrefix("{") }
            }
        }
    }

    /// Settings that a router never passes to create. It must still survive them: it refuses them or makes an instance.
    static let texts = ["", "{", "null", "[]", "7", #"{"a":"#, "{}", "\u{0}", String(repeating: "[", count: 1000)]
}
