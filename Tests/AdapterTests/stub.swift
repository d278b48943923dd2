import Testing
import Console
import File
import NoOp
import PluginKit
@Test func f() { #expect(Bool(true)) }
