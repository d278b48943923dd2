#!/usr/bin/env python3
"""Damages a copy of an audit trail in every small way, and checks that Scripts/verify-audit.py finds each damage.

usage: tamper.py --key PUBLICKEY FOLDER [--every N] [--planted]

Each byte of each file is changed, deleted and swapped with the next one, and each file is cut at each length and removed. Each entry is
deleted and swapped with the next one, also with a tile that fits the changed entries. With --every, one damage of N is tried, and each file
is also emptied and removed. With --planted, the verifier does not see the entries of the first bundle, which must be noticed. Exits with 1 if a
damage was not found.
"""
import argparse, functools, importlib.util, os, shutil, sys, tempfile, time

options = argparse.ArgumentParser(usage=__doc__)
options.add_argument("--key", required=True)
options.add_argument("--every", type=int, default=1)
options.add_argument("--planted", action="store_true")
options.add_argument("folder")
options = options.parse_args()

spec = importlib.util.spec_from_file_location("verifier", os.path.join(os.path.dirname(os.path.abspath(__file__)), "verify-audit.py"))
verifier = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verifier)
# The same signature over the same text has the same result.
verifier.is_signed = functools.lru_cache(None)(verifier.is_signed)


def swapped(data, at):
    return data[:at] + data[at + 1 : at + 2] + data[at : at + 1] + data[at + 2 :]


def bytewise(data):
    """Every change of one byte, deletion of one byte, swap of two neighbours and cut."""
    for at in range(len(data)):
        yield "byte %d changed" % at, data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]
        yield "byte %d deleted" % at, data[:at] + data[at + 1 :]
        yield "cut at %d" % at, data[:at]
        if at + 1 < len(data) and data[at] != data[at + 1]:
            yield "bytes %d and %d swapped" % (at, at + 1), swapped(data, at)
    yield "removed", None


def entrywise(data):
    """Every deletion of an entry, and every swap of two neighbours."""
    entries, _ = verifier.entries(data, 256)
    join = lambda entries: b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)
    for at, entry in enumerate(entries):
        yield "entry %d of it deleted" % at, join(entries[:at] + entries[at + 1 :])
        if at + 1 < len(entries) and entry != entries[at + 1]:
            yield "entries %d and %d of it swapped" % (at, at + 1), join(entries[:at] + [entries[at + 1], entry] + entries[at + 2 :])


def write(path, data):
    if data is None:
        return os.remove(path)
    with open(path, "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


with tempfile.TemporaryDirectory() as work:
    trail = os.path.join(work, "audit")
    shutil.copytree(options.folder, trail)
    faults, size = verifier.verify(trail, options.key, None)
    if faults:
        sys.exit("the trail is not whole before it is damaged: %s" % faults[0])
    files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(trail) for name in names if name != "lock")
    if options.planted:
        whole, first = verifier.read, files[[os.path.basename(os.path.dirname(path)) for path in files].index("entries")]
        hidden = whole(first)
        verifier.read = lambda *names: hidden if first in names else whole(*names)
    tried, missed, began, count = 0, [], time.monotonic(), 0
    for path in files:
        data, name = read(path), os.path.relpath(path, trail)
        isEntries = name.startswith(("tail-", os.path.join("tile", "entries")))
        for ways in [bytewise, entrywise] if isEntries else [bytewise]:
            for what, changed in ways(data):
                count += 1
                if count % options.every and what not in ("cut at 0", "removed"):
                    continue
                write(path, changed)
                tried += 1
                if not verifier.verify(trail, options.key, None)[0]:
                    missed.append("%s: %s" % (name, what))
                if ways is entrywise and os.path.basename(path).isdecimal():
                    # The tile fits the changed entries, and only what is above it shows the change.
                    tile = path.replace(os.path.join("tile", "entries"), os.path.join("tile", "0"))
                    whole = read(tile)
                    write(tile, b"".join(verifier.leaf(entry) for entry in verifier.entries(changed, 256)[0]))
                    tried += 1
                    if not verifier.verify(trail, options.key, None)[0]:
                        missed.append("%s: %s, with its tile" % (name, what))
                    write(tile, whole)
                write(path, data)
    for line in missed[:10]:
        print("not found: " + line)
    print("%d entries, %d files, %d damages, %d not found, %.0f s" % (size, len(files), tried, len(missed), time.monotonic() - began))
    sys.exit(1 if missed or not tried else 0)
