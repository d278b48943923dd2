"""Measures `switchyard check`, `lint` and `test` on a large configuration: 500 routes, each with a filter, consent, a sample, a session and a
transform."""

import json
import os
import statistics
import tempfile

from harness.measure import run

ROUTES = 500
PROVIDERS = 20
TESTS = 20


def cases(report, executable, rounds, progress):
    progress(f"check: {ROUTES} routes")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "routes.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(configuration(), out)
        tests = os.path.join(folder, "routes.test.json")
        with open(tests, "w", encoding="utf-8") as out:
            json.dump({"tests": [test(number) for number in range(TESTS)]}, out)
        for name, command in [
            (f"check of {ROUTES} routes, as text", [executable, "check", file]),
            (f"check of {ROUTES} routes, as JSON", [executable, "check", "--json", file]),
            (f"lint of {ROUTES} routes", [executable, "lint", file]),
            (f"{TESTS} tests of {ROUTES} routes", [executable, "test", tests]),
        ]:
            seconds = statistics.median(run(command, os.devnull).seconds for _ in range(rounds))
            report.add(name, 1000 * seconds, "ms", under=1000)
    progress("")


def configuration():
    return {
        "keys": {"ids": "0123456789abcdef"},
        "consent": {"levels": {"none": [], "standard": ["analytics"]}},
        "providers": {f"provider-{number}": {"plugin": "noop"} for number in range(PROVIDERS)},
        "routes": [route(number) for number in range(ROUTES)],
        # The secret is none, and no event of a route is named order_something.
        "lint": {"allow": ["SY0105", "SY0403"]},
    }


def test(number):
    """A test of an event that one route denies, since it carries no consent, and the others filter out."""
    event = {"type": "track", "event": f"team{number}_x", "properties": {"n": number + 1, "plan": f"plan {number}"}}
    return {"name": f"test {number}", "event": event, "expect": {"routes": {f"route {number}": {"verdict": "denied"}}}}


def route(number):
    return {
        "name": f"route {number}",
        "events": [f"team{number}_*"],
        "match": {"type": "track"},
        "not": {"match": {"properties.test": True}},
        "where": f"properties.n > {number} && properties.plan == 'plan {number}'",
        "consent": "standard",
        "sample": {"rate": 0.5, "by": "userId", "keep": ["order_*"], "limit": "100/s", "annotate": True},
        "session": {"by": "anonymousId"},
        "transform": [
            {"drop": ["context.ip"]},
            {"hash": {"fields": ["userId"], "key": "ids"}},
            {"set": {"context.route": {"cel": f"'route {number}'"}}},
            {"mask": {"pattern": f"[0-9]{{{1 + number % 9}}}", "with": "#", "in": ["properties.note"]}},
        ],
        "to": [f"provider-{number % PROVIDERS}"],
    }
