"""Checks the JSON Schema of routes.json with a validator from outside the project.

usage: validate.py CORPUS SCHEMA FILE...

CORPUS is the output of the tests of Configuration: a schema for their modules, good files, and broken files. SCHEMA is the output of
`switchyard schema`, and it must accept each FILE. If the schema of the corpus accepts a broken file, the list below must contain that
file, with the reason why a schema cannot find the fault.
"""

import json
import sys

from jsonschema import Draft202012Validator

NAMES = "a schema cannot compare a name with the names in another part of the file"
EQUAL = "a schema cannot compare one member of the items of a list, or of the values of an object"
SIZES = "a schema cannot compare sizes or times, which are text"
TWO_WAYS = "one path can be written in two ways"
PARSER = "a JSON parser keeps only the last of two equal keys"
NEEDS = "check reports with a better message that one key needs another one"
ADDRESS = "a schema cannot parse addresses"
EXPRESSIONS = "a schema cannot know which variables an expression has"
OUTSIDE = "the value of a placeholder is not in the file"

# The broken files that the schema accepts, each with the reason.
EXCEPTIONS = {
    "an escaped duplicate": PARSER,
    "a short key from the environment": OUTSIDE,
    "two sources of standard input": EQUAL,
    "a batch larger than the queue": SIZES,
    "a batch larger than its own queue": SIZES,
    "a first pause that is longer than the longest": SIZES,
    "a queue that spills without a disk": NEEDS,
    "an address of admin that others can reach": NEEDS,
    "a socket for admin": ADDRESS,
    "a page at an address that others can reach": ADDRESS,
    "emit rules that would bypass the consent of the original": NAMES,
    "keys for routes that do not exist": NAMES,
    "rights to write a ledger that does not exist": NEEDS,
    "events that are held without a ledger": NEEDS,
    "events that are held by their region, without a ledger": NEEDS,
    "emit rules that would copy a member that consent removes, in any form": NAMES,
    "an unknown provider": NAMES,
    "an unknown provider without a near name": NAMES,
    "two routes with the same name": EQUAL,
    "a name that another route has by default": EQUAL,
    "a match on one path written twice": TWO_WAYS,
    "a set of one path twice": TWO_WAYS,
    "a hash with an unknown key": NAMES,
    "a hash with a key in a file without keys": NAMES,
    "a hash of a hash": EQUAL,
    "levels whose purposes do not grow": NAMES,
    "an unknown level": NAMES,
    "an unknown level without a near name": NAMES,
    "an unknown purpose": NAMES,
    "purposes where the levels have none": NAMES,
    "a policy of an unknown level": NAMES,
    "an emit rule that sets the member that chooses the policy": NAMES,
    "an unknown purpose of the privacy control": NAMES,
    "a map to an unknown purpose": NAMES,
    "a ledger with a key that does not exist": NAMES,
    "a ledger without keys": NAMES,
    "a ledger whose key is also a previous one": EQUAL,
    "a ledger with keys that are used elsewhere": NAMES,
    "an unknown default": NAMES,
    "a variable that is not set": OUTSIDE,
    "a file that is not there": OUTSIDE,
    "a file that is not text": OUTSIDE,
    "a file that is too large": OUTSIDE,
    "several placeholders": OUTSIDE,
    "a placeholder behind an escape": OUTSIDE,
    "a secret for a provider's name": NAMES,
    "the source of an event at the hand-over, where it is not known": EXPRESSIONS,
    "a ledger with a key under which a provider hashes": NAMES,
    "purposes and levels from outside are not offered": NAMES,
    "levels from outside are not offered": NAMES,
}


def no_constant(word):
    raise ValueError(f"{word} is not JSON")


def parse(text):
    return json.loads(text, parse_constant=no_constant)


def refusal(validator, text):
    """Returns the reason why the text is refused, or None if it is valid."""
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
                faults.append(f"an exception is not needed, because the schema refuses the file: {what}: {why}")
        elif what not in EXCEPTIONS:
            faults.append(f"the schema accepts a broken file: {what}:\n{broken['text']}")
    for stale in EXCEPTIONS.keys() - {broken["what"] for broken in corpus["broken"]}:
        faults.append(f"an exception for a file that is not in the corpus: {stale}")

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
