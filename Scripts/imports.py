#!/usr/bin/env python3
"""Checks that each Swift target of Package.swift imports exactly the targets that it declares. The compiler accepts an import of a module
that another target has built, and a dependency that nothing imports."""

import json
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
package = subprocess.run(
    ["swift", "package", "dump-package"], cwd=root, stdout=subprocess.PIPE, check=True,
    env={**os.environ, "SWITCHYARD_EXTRAS": sys.argv[1] if len(sys.argv) > 1 else ""})
targets = json.loads(package.stdout)["targets"]
names = {target["name"] for target in targets}

faults = []
for target in targets:
    folder = root / (target.get("path") or f"Tests/{target['name']}")
    files = list(folder.rglob("*.swift"))
    declared = {dependency["byName"][0] for dependency in target["dependencies"]}
    texts = [file.read_text() for file in files]
    imported = {name for text in texts for name in re.findall(r"^[^/\"\n]*\bimport (?:\w+ )?(\w+)", text, re.MULTILINE)} & names
    # Tests of the access rules compile texts that import modules.
    quoted = {name for text in texts for name in re.findall(r"(?:\b|\\n)import (\w+)", text)}
    faults += [f"{target['name']} imports {name} but does not declare it" for name in sorted(imported - declared)]
    if files:
        faults += [f"{target['name']} declares {name} but does not import it" for name in sorted(declared - imported - quoted)]
if len(targets) < 50:
    faults.append(f"found only {len(targets)} targets; does this script read Package.swift correctly?")
for fault in faults:
    print(f"switchyard: Package.swift: {fault}", file=sys.stderr)
sys.exit(1 if faults else 0)
