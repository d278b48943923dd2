"""Measures the cost of the audit trail: its verdicts beside the same plan without a trail, their bytes, and the verification.

One event in twenty is denied: it comes with the level `none`, and the route demands the next one.
"""

import json
import os
import subprocess
import tempfile
import time

from harness.measure import Contender, interleave, ratio


def cases(report, executable, router, routes, input, rounds, progress):
    with open(input, "rb") as file:
        events = sum(1 for _ in file)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(input)) as folder:
        states = {kind: os.path.join(folder, kind) for kind in ("off", "denied", "all")}
        off, denied, all = (
            Contender(f"switchyard, verdicts {kind}", router(f"audit-{kind}", 1) + ["--state", state], input)
            for kind, state in states.items())
        interleave([off, denied, all], rounds, lambda text: progress(f"audit: {text}"))
        for contender in (off, denied, all):
            report.rate(contender)
        report.add("verdicts of denied events / no trail", ratio(denied, off), at_least=0.95)
        report.add("verdicts of all events / no trail", ratio(all, off), at_least=0.5)
        verification(report, executable, routes("audit-all"), states["all"], progress)
        for kind in ("denied", "all"):
            found = verify(executable, routes(f"audit-{kind}"), states[kind])
            report.add(f"verdicts {kind}, bytes of the trail for each event", size(states[kind]) / (events * found["runs"]), "bytes")
    progress("")


def verify(executable, plan, state):
    """Verifies the trail. Returns the findings, and the number of runs that wrote it."""
    found = verify_once(executable, plan, state)
    words = [executable, "audit", "list", "-c", plan, "--state", state]
    entries = subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    found["runs"] = sum(json.loads(entry)["kind"] == "start" for entry in entries)
    return found


def verification(report, executable, plan, state, progress):
    progress("audit: verifying")
    rates = []
    for _ in range(5):
        begin = time.monotonic()
        found = verify_once(executable, plan, state)
        rates.append(found["bytes"] / 1e6 / (time.monotonic() - begin))
    report.add("audit verify", sorted(rates)[2], "MB/s", at_least=100)


def verify_once(executable, plan, state):
    words = [executable, "audit", "verify", "--json", "-c", plan, "--state", state]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)


def size(state):
    folder = os.path.join(state, "audit")
    return sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names)
