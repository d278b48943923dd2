// Compares a whole report in each format with the file in Goldens. REPORT_GOLDENS=write writes the files anew.

import Foundation
import TestSupport
import Testing

@testable import Reporting

@Suite struct GoldenTests {
    @Test(arguments: ReportFormat.allCases) func `a report in each format is the one in Goldens`(_ format: ReportFormat) throws {
        let path = "\(Project.root)/Tests/ReportingTests/Goldens/report.\(format == .text ? "txt" : format.rawValue)"
        let written = try report().written(as: format)
        if ProcessInfo.processInfo.environment["REPORT_GOLDENS"] == "write" {
            try written.write(toFile: path, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == written)
    }
}
