"""Holds the JSON Schema of routes.json against a validator that is not ours.

usage: validate.py CORPUS SCHEMA FILE...

CORPUS is what the tests of Configuration write: a schema for their modules, good files, and broken files. SCHEMA is what
`switchyard schema` prints, and the files must be good by it. What the schema accepts of the broken files must stand below, with
the reason why no schema can tell.
"""

import json
import sys

from jsonschema import Draft202012Validator

NAMES = "names of one part of the file are used in another"
PLACES = "an object's keys and values cannot be compared with each other"
BOUNDS = "the bounds of a size or time, which is text, are numbers"
OUTSIDE = "what a placeholder stands for is not in the file"
TWICE = "a parser that keeps the last of two equal keys shows the validator only that one"
ONE_PATH = "one path can be written in two ways"
BITS = "JSON Schema has no bounds for what a machine number holds"

# The broken files that the schema cannot tell, each with the reason.
EXCEPTIONS = {
}


def no_constant(word):
    raise ValueError(f"{word} is not JSON")


def parse(text):
    return json.loads(text, parse_constant=no_constant)


def refusal(validator, text):
    """Why the text is refused; None when it is not."""
    try:
        value = parse(text)
    except ValueError as error:
        return f"not JSON: {error}"
    errors = sorted(validator.iter_errors(value), key=lambda error: len(error.path), reverse=True)
    return f"{errors[0].json_path}: {errors[0].message}" if errors else None


def main(corpus_path, schema_path, files):
    faults = []
    with open(corpus_path, encoding="utf-8") as file:
        corpus = json.load(file)
    with open(schema_path, encoding="utf-8") as file:
        installed = parse(file.read())
    for schema in (parse(corpus["schema"]), installed):
        Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(parse(corpus["schema"]))

    for good in corpus["good"]:
        why = refusal(validator, good["text"])
        if why:
            faults.append(f"check accepts this file, the schema does not ({why}):\n{good['text']}")
    refused = 0
    for broken in corpus["broken"]:
        what = broken["what"]
        why = refusal(validator, broken["text"])
        if why:
            refused += 1
            if what in EXCEPTIONS:
                faults.append(f"an exception that is none, the schema refuses it: {what}: {why}")
        elif what not in EXCEPTIONS:
            faults.append(f"the schema accepts a broken file: {what}:\n{broken['text']}")
    for stale in EXCEPTIONS.keys() - {broken["what"] for broken in corpus["broken"]}:
        faults.append(f"an exception for a file that there is not: {stale}")

    validator = Draft202012Validator(installed)
    for path in files:
        with open(path, encoding="utf-8") as file:
            why = refusal(validator, file.read())
        if why:
            faults.append(f"{path}: {why}")

    for fault in faults:
        print(f"switchyard: schema: {fault}", file=sys.stderr)
    print(
        f"switchyard: schema: {len(corpus['good'])} good files of the corpus, {refused} of {len(corpus['broken'])} broken ones refused "
        f"({len(EXCEPTIONS)} cannot be), {len(files)} files of the project",
        file=sys.stderr,
    )
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
