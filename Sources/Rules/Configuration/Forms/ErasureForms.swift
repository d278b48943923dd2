// The form of `consent.erasures`: when providers are asked to erase.

internal import FormReading
internal import Plans

enum ErasureForms {
    private static let year = 366 * 86_400_000

    static let rules = Form<ErasurePlan>.object(
        ErasurePlan(),
        [
            Member(
                "wait", Forms.time(0...year),
                "How long after the withdrawal a provider is asked first, so that its destination has stored what was sent before; 1m when left out.",
                example: #""5m""#, into: \.wait),
            Member(
                "first", Forms.time(1...year), "The first pause between two asks; later ones double; 1m when left out.",
                example: #""10m""#, into: \.first),
            Member("most", Forms.time(1...year), "The longest pause between two asks; 6h when left out.", example: #""1d""#, into: \.most),
            Member(
                "for", Forms.time(1...year),
                "How long a provider is asked before its job is given up, and a person must act; 30d when left out.",
                example: #""60d""#, into: \.total),
        ])
}
