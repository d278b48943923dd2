#!/usr/bin/env python3
"""Checks that every relative link of the documents leads to a file, and every #anchor to a heading. Links to other sites are not checked."""

import functools
import pathlib
import re
import sys
import urllib.parse

root = pathlib.Path(__file__).resolve().parent.parent
pages = [root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md"))]


def lines_of_text(page):
    """The lines outside of code blocks, with their numbers."""
    fence = None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        mark = re.match(r" *(```+|~~~+)", line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = None
        elif fence is None:
            yield number, line


@functools.cache
def anchors(page):
    """The anchors of a page, made from its headings as GitHub does."""
    found = {}
    for _, line in lines_of_text(page):
        if heading := re.match(r"#{1,6} +(.*?)[ #]*$", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            count = found[anchor] = found.get(anchor, -1) + 1
            if count:
                found[f"{anchor}-{count}"] = 0
    return found.keys()


faults = []
links = 0
for page in pages:
    for number, line in lines_of_text(page):
        for target in re.findall(r"\]\(<?([^)\s>]+)", re.sub(r"`[^`]*`", "``", line)):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            links += 1
            path, _, anchor = target.partition("#")
            place = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
            shown = f"{page.relative_to(root)}:{number}"
            if not place.is_relative_to(root) or not place.exists():
                faults.append(f"{shown}: there is no {path}")
            elif anchor and (place.suffix != ".md" or anchor not in anchors(place)):
                faults.append(f"{shown}: {path or page.name} has no heading for #{anchor}")
if links < 100:
    faults.append(f"the documents have only {links} links; does this script read them correctly?")
for fault in faults:
    print(f"switchyard: {fault}", file=sys.stderr)
sys.exit(1 if faults else 0)
