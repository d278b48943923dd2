"""Measures the processor time of one event that was made to take long, with 500 routes whose rules were made for it."""

import json
import os
import random
import tempfile

from harness.measure import run

ROUTES = 500
EVENTS = 2
# What 500 routes may take for one event, in milliseconds: 500,000 shared steps and 1000 of each route, at 1.5 µs. See docs/expressions.md.
MOST = 1500
PROVIDERS = {"out": {"plugin": "noop"}}


def cases(report, executable, smoke, progress):
    count = 20 if smoke else ROUTES
    for name, (rules, members) in kinds().items():
        progress(f"hostile events: {name}")
        taken = seconds(executable, [rules(n) | {"to": ["out"]} for n in range(count)], members, 1 if smoke else 2)
        report.add(f"one event that {count} routes judge: {name}", 1000 * taken, "ms", under=MOST)
    progress("")


def kinds():
    """Returns for each way of taking time the rules of the routes, by their number, and the members of the event."""
    chance = random.Random(1)

    def text(count, letters="ab"):
        return "".join(chance.choices(letters, k=count))

    return {
        # Five routes take the shared steps. The others have those of their own.
        "patterns that RE2 must simulate": (
            lambda n: {"where": f"this.{'a' if n < 5 else 'b'}.matches('a[ab]{{900}}c{n}')"}, {"a": text(13_000), "b": text(120)}),
        "a pattern for e-mail addresses in 12 KB": (
            lambda n: {"where": f"!this.a.matches('[a-z0-9._%+-]+@[a-z0-9.-]+[.][a-z]{{2,{n % 7 + 3}}}')"},
            {"a": text(12_000, "ab.-%")}),
        "lists that expressions make": (
            lambda n: {"where": f"size(this.{'a' if n < 5 else 'b'}.split('').map(x, x + '{n}')) > 0"}, {"a": text(14_000), "b": text(140)}),
        "scrub of text that is full of almost-finds": (
            lambda n: {"transform": [{"scrub": {}}]},
            {"a": " ".join(text(chance.choice([2, 3, 4]), "0123456789") for _ in range(4000))}),
        "a name with 500 globs": (lambda n: {"events": [f"a*b{n}*c"]}, {"event": "a" + text(900_000, "ab") + "c"}),
        "twelve steps that write the event again": (
            lambda n: {"transform": [{"flatten": ["p"]}, {"set": {"q": {"cel": "size(this.b)"}}}] * 6},
            {"a": text(19_000), "b": "x", "p": {"x": {"y": 1}}}),
    }


def seconds(executable, routes, members, times):
    """Returns the processor time for one event: that of a run with a few events, without that of a run with none."""
    with tempfile.TemporaryDirectory() as folder:
        file, events, none = (os.path.join(folder, name) for name in ("routes.json", "events.ndjson", "none.ndjson"))
        with open(file, "w", encoding="utf-8") as out:
            json.dump({"providers": PROVIDERS, "routes": routes}, out)
        with open(events, "w", encoding="utf-8") as out:
            out.write((json.dumps(members) + "\n") * EVENTS)
        with open(none, "w", encoding="utf-8"):
            pass
        command = [executable, "run", "-c", file, "--workers", "1"]
        longer, shorter = (min(run(command, input).cpu_seconds for _ in range(times)) for input in (events, none))
        return max(0.0, (longer - shorter) / EVENTS)
