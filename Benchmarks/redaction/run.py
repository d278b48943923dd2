"""Measures what `scrub` finds, and what it takes for personal data wrongly, beside Presidio and scrubadub on the same generated texts.

usage: run.py [--each N] [--seed N] [--program FILE] [--show KIND] [--only NAMES]
"""

import argparse
import sys
from collections import Counter

import corpus
import peers

ALL = ["token", "key", "email", "iban", "card", "ip", "mac", "phone", "national_id"]


def is_found(text: corpus.Text, ranges: peers.Ranges) -> bool:
    """True if no letter or digit of the planted value is left."""
    covered = set().union(*(range(start, end) for start, end in ranges)) if ranges else set()
    return all(i in covered or not text.text[i].isalnum() for i in range(text.start, text.end))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=60, help="texts of each kind in each locale")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default=".build/release/switchyard")
    parser.add_argument("--only", default="switchyard,presidio,scrubadub")
    parser.add_argument("--show", default="", help="print the texts of this kind that switchyard judges wrongly")
    parser.add_argument("--find", default=",".join(ALL))
    options = parser.parse_args()

    texts = corpus.generate(options.seed, options.each)
    plain = [text.text for text in texts]
    programs = {
        "switchyard": lambda: peers.switchyard(plain, options.program, {"find": options.find.split(",")}),
        "presidio": lambda: peers.presidio(plain),
        "scrubadub": lambda: peers.scrubadub(plain),
    }
    names = options.only.split(",")
    results = {name: programs[name]() for name in names}

    totals = Counter(text.kind for text in texts)
    hits = {name: Counter() for name in names}
    for i, text in enumerate(texts):
        for name in names:
            hit = bool(results[name][i]) if text.kind.startswith("no ") else is_found(text, results[name][i])
            hits[name][text.kind] += hit
            hits[name][text.kind + " " + text.locale] += hit
            if text.kind == options.show and name == "switchyard" and hit == text.kind.startswith("no "):
                print(text.locale, repr(text.text), results[name][i])
    table = "{:16}" + "{:>12}" * len(names)
    print(table.format("found, %", *names))
    for kind in corpus.KINDS:
        print(table.format(kind, *(f"{100 * hits[n][kind] / totals[kind]:.1f}" for n in names)))
    wrong = [kind for kind in totals if kind.startswith("no ")]
    count = sum(totals[kind] for kind in wrong)
    print(table.format(f"wrong of {count}", *(sum(hits[n][kind] for kind in wrong) for n in names)))
    for kind in wrong:
        print(table.format("  " + kind[3:], *(hits[n][kind] for n in names)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
