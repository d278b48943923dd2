"""Holds the JSON Schema of routes.json against a validator that is not ours.

usage: validate.py CORPUS SCHEMA FILE...

CORPUS is what the tests of Configuration write: a schema for their modules, good files, and broken files. SCHEMA is what
`switchyard schema` prints, and the files must be good by it. What the schema accepts of the broken files must stand below, with
the reason why no schema can tell.
"""

import json
import sys

from jsonschema import Draft202012Validator

NAMES = "no schema compares a name with the names of another part of the file"
EQUAL = "no schema compares one member of the items of a list, or of the values of an object"
SIZES = "no schema compares sizes or times, which are text"
TWO_WAYS = "one path can be written in two ways"
PARSER = "a parser that keeps the last of two equal keys shows the schema only that one"
NEEDS = "what one key needs of another is told better by check"
ADDRESS = "no schema reads addresses"
OUTSIDE = "what a placeholder stands for is not in the file"

# The broken files that the schema cannot tell, each with the reason.
EXCEPTIONS = {
    "an escaped duplicate": PARSER,
    "a short key from the environment": OUTSIDE,
    "two of standard input": EQUAL,
    "a batch larger than the queue": SIZES,
    "a batch larger than its own queue": SIZES,
    "a pause that begins above its most": SIZES,
    "a queue that spills": NEEDS,
    "an address of admin that others can reach": NEEDS,
    "a socket for admin": ADDRESS,
    "rules that would get round the consent of the event they are made of": NAMES,
    "keys for routes that there are not": NAMES,
    "rights to write a ledger that there is not": NEEDS,
    "events that are held for ever, since there is no ledger": NEEDS,
    "events that are held by their region, without a ledger": NEEDS,
    "an unknown provider": NAMES,
    "an unknown provider without a near name": NAMES,
    "two routes of a name": EQUAL,
    "the name of a route without one": EQUAL,
    "a match on one path written twice": TWO_WAYS,
    "a set of one path twice": TWO_WAYS,
    "a hash with an unknown key": NAMES,
    "a hash with a key where there is none": NAMES,
    "a hash of a hash": EQUAL,
    "levels whose purposes do not grow": NAMES,
    "an unknown level": NAMES,
    "an unknown level without a near name": NAMES,
    "an unknown purpose": NAMES,
    "purposes where the levels have none": NAMES,
    "a policy of an unknown level": NAMES,
    "a rule that says how the unknown are judged": NAMES,
    "an unknown purpose of the privacy control": NAMES,
    "a map to an unknown purpose": NAMES,
    "a ledger under a key that there is not": NAMES,
    "a ledger without keys": NAMES,
    "a ledger whose key was its own before": EQUAL,
    "a ledger under keys that others use": NAMES,
    "an unknown default": NAMES,
    "a variable that is not set": OUTSIDE,
    "a file that is not there": OUTSIDE,
    "a file that is not text": OUTSIDE,
    "a file that is too large": OUTSIDE,
    "several placeholders": OUTSIDE,
    "a placeholder behind an escape": OUTSIDE,
    "a secret for a provider's name": NAMES,
    "purposes and levels from outside are not offered": NAMES,
    "levels from outside are not offered": NAMES,
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
