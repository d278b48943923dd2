#!/usr/bin/env python3
"""Holds the manifests of the packages that link sources in against the main one: a module that both know has the same
dependencies in both, and each nested package has all that its modules need. One that lags behind would build on no machine
but be found out only by the job that needs it."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
MODULE = re.compile(r'\bmodule\(\s*"(\w+)"(?:,\s*\[(.*?)\])?', re.DOTALL)
NAMED = re.compile(r'\bname:\s*"(\w+)"')


def modules(manifest):
    return {name: set(re.findall(r'"(\w+)"', needs or "")) for name, needs in MODULE.findall(manifest.read_text())}


main = modules(root / "Package.swift")
faults = []
nested = [root / folder / "Package.swift" for folder in ("Fuzz", "Benchmarks/Scanner", "Tests/Simulation")]
for manifest in nested:
    place = manifest.relative_to(root)
    own = modules(manifest)
    known = own.keys() | set(NAMED.findall(manifest.read_text()))
    if not own.keys() & main.keys():
        faults.append(f"{place}: names no module of Package.swift; is it read rightly?")
    for name in sorted(own.keys() & main.keys()):
        for need in sorted(main[name] - own[name]):
            faults.append(f"{place}: {name} needs {need}, as Package.swift says")
        for need in sorted(own[name] - main[name]):
            faults.append(f"{place}: {name} does not need {need}, as Package.swift says")
    for need in sorted({need for needs in own.values() for need in needs} - known):
        faults.append(f"{place}: has no target {need}")
for fault in faults:
    print(f"switchyard: {fault}", file=sys.stderr)
sys.exit(1 if faults else 0)
