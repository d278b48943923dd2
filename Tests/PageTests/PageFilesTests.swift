import Testing

@testable import Page

@Suite("The files of the page")
struct PageFilesTests {
    @Test("are under 300 KB in all, and nobody without a session gets more than what asks for a link")
    func size() {
        let files = PageFile.all
        #expect(files.reduce(0) { $0 + $1.bytes.count } < 300_000)
        #expect(Set(files.filter(\.isOpen).map(\.name)) == ["door.html", "door.js", "page.css"])
        #expect(files.allSatisfy { !$0.bytes.isEmpty } && Set(files.map(\.name)).count == files.count)
        #expect(PageFile.named("../page.js") == nil && PageFile.named("") == nil)
    }

    @Test("have no inline script or style, no address of another place, and nothing that makes markup of a text")
    func content() {
        for file in PageFile.all {
            let text = String(decoding: file.bytes, as: UTF8.self)
            for word in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "javascript:", "https:",
            ] {
                #expect(!text.contains(word), "\(file.name) has \(word)")
            }
            // The name of a namespace is no address.
            #expect(!text.replacing("http://www.w3.org/2000/svg", with: "").contains("http:"), "\(file.name) has an address")
            if file.name.hasSuffix(".html") {
                #expect(
                    !text.contains("style=") && !text.contains("<style") && !text.contains(#/\son[a-z]+=/#),
                    "\(file.name) is not free of code")
            }
        }
    }
}
