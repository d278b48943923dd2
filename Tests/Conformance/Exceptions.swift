// The files of the specification that are run, and the cases in them that are expected to fail, each with its reason.

let scope = [
    "basic", "comparisons", "conversions", "fields", "fp_math", "integer_math", "lists", "logic", "macros", "parse",
    "plumbing", "string",
    "string_ext", "timestamps", "type_deduction", "namespace", "bindings_ext", "encoders_ext", "macros2", "math_ext", "optionals",
]

let exceptions: [String: String] = [:]
