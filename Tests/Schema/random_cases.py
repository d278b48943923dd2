#!/usr/bin/env python3
"""Writes random cases in the form of the JSON Schema test suite. PyPI's jsonschema says which values are valid.

usage: random_cases.py FOLDER SEED COUNT    (COUNT schemas with 20 values each, into FOLDER/tests/draft2020-12)
"""

import json
import os
import random
import sys

from jsonschema import Draft202012Validator

KEYS = ["a", "b", "ab", "\u00e9", "a/b", "x~y", ""]
TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"]
PATTERNS = ["^a", "b$", "[0-9]+", "^.{2}$", "\u00e9"]


class Cases:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, depth=3):
        r = self.random
        kind = r.randrange(8 if depth else 6)
        if kind == 0:
            return None
        if kind == 1:
            return r.random() < 0.5
        if kind == 2:
            return r.randrange(-4, 5)
        if kind == 3:
            return r.choice([0.5, 1.0, -2.5, 3.0, 1e3, 2.25])
        if kind in (4, 5):
            return "".join(r.choice("ab1\u00e9\U0001F697\"\\\t") for _ in range(r.randrange(4)))
        if kind == 6:
            return [self.value(depth - 1) for _ in range(r.randrange(4))]
        return {key: self.value(depth - 1) for key in r.sample(KEYS, r.randrange(4))}

    def keyword(self, depth):
        r = self.random
        number, count = r.choice([-2, 0, 1, 2.5, 3]), r.randrange(4)
        simple = {
            "type": lambda: r.choice(TYPES) if r.random() < 0.6 else r.sample(TYPES, 3),
            "enum": lambda: [self.value(2) for _ in range(4)], "const": lambda: self.value(2), "minimum": lambda: number,
            "maximum": lambda: number, "exclusiveMinimum": lambda: number, "exclusiveMaximum": lambda: number,
            "multipleOf": lambda: r.choice([1, 2, 0.5]), "minLength": lambda: count, "maxLength": lambda: count,
            "pattern": lambda: r.choice(PATTERNS), "minItems": lambda: count, "maxItems": lambda: count,
            "uniqueItems": lambda: r.random() < 0.8, "minProperties": lambda: count, "maxProperties": lambda: count,
            "required": lambda: r.sample(KEYS, r.randrange(3)), "dependentRequired": lambda: {r.choice(KEYS): r.sample(KEYS, 1)},
        }
        nested = {
            "items": lambda: self.schema(depth - 1), "prefixItems": lambda: [self.schema(depth - 1) for _ in range(r.randrange(1, 3))],
            "contains": lambda: self.schema(depth - 1), "additionalProperties": lambda: self.schema(depth - 1),
            "properties": lambda: {key: self.schema(depth - 1) for key in r.sample(KEYS, r.randrange(1, 4))},
            "patternProperties": lambda: {r.choice(PATTERNS): self.schema(depth - 1)}, "propertyNames": lambda: self.schema(depth - 1),
            "allOf": lambda: [self.schema(depth - 1) for _ in range(2)], "anyOf": lambda: [self.schema(depth - 1) for _ in range(2)],
            "oneOf": lambda: [self.schema(depth - 1) for _ in range(2)], "not": lambda: self.schema(depth - 1),
            "if": lambda: self.schema(depth - 1), "then": lambda: self.schema(depth - 1), "else": lambda: self.schema(depth - 1),
            "dependentSchemas": lambda: {r.choice(KEYS): self.schema(depth - 1)}, "unevaluatedItems": lambda: self.schema(depth - 1),
            "unevaluatedProperties": lambda: self.schema(depth - 1), "minContains": lambda: count, "maxContains": lambda: count,
            "$ref": lambda: "#/$defs/" + r.choice("xy"),
        }
        every = simple if not depth or r.random() < 0.4 else nested
        name = r.choice(list(every))
        return name, every[name]()

    def schema(self, depth=3):
        if self.random.random() < 0.1:
            return self.random.random() < 0.7
        return dict(self.keyword(depth) for _ in range(self.random.randrange(1, 4)))

    def group(self, number):
        schema = self.schema()
        while not isinstance(schema, dict):
            schema = self.schema()
        # What references mean has none itself, so that none leads to itself.
        schema["$defs"] = {name: {"type": self.random.choice(TYPES)} for name in "xy"}
        validator = Draft202012Validator(schema)
        values = [self.value() for _ in range(20)]
        tests = [{"description": str(index), "data": value, "valid": validator.is_valid(value)} for index, value in enumerate(values)]
        return {"description": str(number), "schema": schema, "tests": tests}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.strip())
    folder = os.path.join(sys.argv[1], "tests", "draft2020-12")
    os.makedirs(folder, exist_ok=True)
    cases = Cases(int(sys.argv[2]))
    with open(os.path.join(folder, "random.json"), "w") as file:
        json.dump([cases.group(number) for number in range(int(sys.argv[3]))], file)


if __name__ == "__main__":
    main()
