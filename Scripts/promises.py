#!/usr/bin/env python3
"""Checks that the commands of docs/promises.md exist: each target of make, and each suite of tests."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
page = root / "docs/promises.md"
targets = set(re.findall(r"^([a-z]+):", (root / "Makefile").read_text(), re.MULTILINE))
suites = {
    f"{folder.name}.{suite}"
    for folder in (root / "Tests").iterdir()
    for file in folder.glob("*.swift")
    for suite in re.findall(r"^(?:@Suite(?:\(.*\))? )?(?:struct|final class|extension) (\w+Tests)\b", file.read_text(), re.MULTILINE)
}

faults = []
found = 0
for number, line in enumerate(page.read_text().splitlines(), 1):
    row = line.startswith("|") and not line.startswith("|---")
    named = re.findall(r"`make (\w+)`|`(\w+Tests\.\w+)`", line)
    shown = line.rstrip("| ").rsplit("|", 1)[-1]
    if row and not re.search(r"`make \w+`|`\w+Tests\.\w+`", shown) and "shown by" not in shown:
        faults.append(f"{page.name}:{number}: no command shows this promise")
    for target, suite in named:
        found += 1
        if target and target not in targets:
            faults.append(f"{page.name}:{number}: make has no target '{target}'")
        if suite and suite not in suites:
            faults.append(f"{page.name}:{number}: there is no suite '{suite}'")
if found < 20:
    faults.append(f"{page.name}: found only {found} commands; the format of the page may have changed")
for fault in faults:
    print(f"switchyard: {fault}", file=sys.stderr)
sys.exit(1 if faults else 0)
