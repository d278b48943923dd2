"""Measures what many routes cost of which three take events, compared with these three alone."""

import json
import os
import tempfile

from harness.measure import Contender, interleave, ratio

ROUTES = 500
SMOKE_ROUTES = 20
PROVIDERS = {"out": {"plugin": "noop"}}
# For each kind of filter: that of the three routes that take events, and that of the others.
KINDS = {
    "events": ([{"events": ["item_*"]}, {"events": ["search_*"]}, {"events": ["*_completed"]}], lambda n: {"events": [f"team{n}_*"]}),
    "match": (
        [{"match": {"type": "track"}}, {"match": {"context.locale": "de-DE"}}, {"match": {"context.os.name": "ios"}}],
        lambda n: {"match": {"context.app.name": f"team {n}"}}),
    "where": (
        [{"where": "type == 'track'"}, {"where": "context.locale == 'de-DE'"}, {"where": "context.os.name == 'ios'"}],
        lambda n: {"where": f"context.app.name == 'team {n}' && properties.price > {n}"}),
}


def cases(report, executable, input, rounds, smoke, progress):
    with tempfile.TemporaryDirectory() as folder:
        count = SMOKE_ROUTES if smoke else ROUTES
        for kind, (three, other) in KINDS.items():
            others = [other(n) for n in range(count - len(three))]
            few = Contender(f"three routes with {kind}, 1 worker", command(executable, folder, f"{kind}-few", three), input)
            many = Contender(f"{count} routes with {kind}, 1 worker", command(executable, folder, f"{kind}-many", others + three), input)
            interleave([few, many], rounds, progress)
            report.rate(few)
            report.rate(many)
            report.add(f"{count} routes with {kind}, of which three take events / these three", ratio(many, few), at_least=0.6)


def command(executable, folder, name, filters):
    path = os.path.join(folder, f"{name}.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"providers": PROVIDERS, "routes": [one | {"to": ["out"]} for one in filters]}, out)
    return [executable, "run", "-c", path, "--workers", "1"]
