// A report as sections of sentences and tables, before it is written as text, CSV or HTML. Every text in it may come from outside and is
// written as text, whatever it holds.

public struct ReportDocument: Sendable {
    public struct Table: Sendable {
        public var columns: [String]
        public var rows: [[String]]

        public init(_ columns: [String], _ rows: [[String]]) {
            assert(rows.allSatisfy { $0.count == columns.count }, "a row has another number of cells than the table has columns")
            self.columns = columns
            self.rows = rows
        }
    }

    /// A part of a section: sentences, and then a table.
    public struct Part: Sendable {
        /// The title below that of the section. It is empty if the section has one part.
        public var title: String
        public var sentences: [String]
        public var table: Table?

        public init(_ title: String = "", _ sentences: [String] = [], table: Table? = nil) {
            self.title = title
            self.sentences = sentences
            self.table = table.flatMap { $0.rows.isEmpty ? nil : $0 }
        }
    }

    public struct Section: Sendable {
        /// A short name for programs, such as `routes`.
        public var name: String
        public var title: String
        public var parts: [Part]

        public init(_ name: String, _ title: String, _ parts: [Part]) {
            self.name = name
            self.title = title
            self.parts = parts
        }
    }

    public var title: String
    public var sentences: [String]
    public var sections: [Section]

    public init(title: String, sentences: [String], sections: [Section]) {
        self.title = title
        self.sentences = sentences
        self.sections = sections
    }
}

public enum ReportFormat: String, Sendable, CaseIterable {
    case text, csv, html
}

extension ReportDocument {
    public func written(as format: ReportFormat) -> String {
        switch format {
        case .text: text
        case .csv: csv
        case .html: html
        }
    }
}
