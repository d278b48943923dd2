// The files of the specification that are run, and the cases in them that are expected to fail, each with its reason.

let scope = [
    "basic", "comparisons", "conversions", "fields", "fp_math", "integer_math", "lists", "logic", "macros", "parse", "plumbing", "string",
    "string_ext", "timestamps", "type_deduction", "namespace", "bindings_ext", "encoders_ext", "macros2", "math_ext",
]

private let optionals = "optional values are an extension; an event either has a member or not, and has() says which"

let exceptions: [String: String] = [
    "type_deduction/flexible_type_parameter_assignment/optional_none": optionals,
    "type_deduction/flexible_type_parameter_assignment/optional_none_2": optionals,
    "type_deduction/flexible_type_parameter_assignment/optional_dyn_promotion": optionals,
    "type_deduction/flexible_type_parameter_assignment/optional_dyn_promotion_2": optionals,
    "type_deduction/flexible_type_parameter_assignment/optional_in_ternary": optionals,
    "type_deduction/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate": optionals,
]
