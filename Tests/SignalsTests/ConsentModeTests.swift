import Signals
import Testing

@Suite struct ConsentModeTests {
    private func mode(_ said: (String, String)...) -> ConsentMode? {
        var mode = ConsentMode()
        for (name, value) in said {
            let signal = Array(name.utf8).withUnsafeBufferPointer { ConsentMode.Signals($0) }
            guard let signal else { continue }
            guard Array(value.utf8).withUnsafeBufferPointer({ mode.note(signal, $0) }) else { return nil }
        }
        return mode
    }

    @Test(
        "each of the four signals is recognized by its name",
        arguments: zip(
            ["ad_storage", "analytics_storage", "ad_user_data", "ad_personalization"],
            [ConsentMode.Signals.adStorage, .analyticsStorage, .adUserData, .adPersonalization]))
    func names(name: String, signal: ConsentMode.Signals) {
        #expect(mode((name, "granted"))?.granted == signal)
        #expect(mode((name, "denied"))?.granted == [])
        #expect(mode((name, "denied"))?.said == signal)
    }

    @Test("other names are ignored, whatever their value", arguments: ["", "ad_storagf", "security_storage", "ad_personalizatioN"])
    func others(name: String) {
        #expect(mode((name, "maybe"))?.said == [])
    }

    @Test("a value that is neither granted nor denied is broken", arguments: ["", "Granted", "grant", "deniedd", "true"])
    func broken(value: String) {
        #expect(mode(("ad_storage", value)) == nil)
    }

    @Test("a signal that is both granted and denied is denied")
    func both() {
        #expect(mode(("ad_storage", "granted"), ("ad_storage", "denied"), ("ad_user_data", "granted"))?.granted == .adUserData)
        #expect(mode(("ad_storage", "denied"), ("ad_storage", "granted"))?.granted == [])
    }
}
