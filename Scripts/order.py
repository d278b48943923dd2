#!/usr/bin/env python3
"""Writes Sources/Command/startup.order, the functions that a router calls until it waits for events.

The linker places these functions side by side (Package.swift). The kernel maps code in blocks of 64 KB around what is called, so without the
list a router that waits has mapped most of its program. The functions of the simplest plan stand first, so that a router which needs no others
does not map these; those of one plan are sorted by name. A name that no longer exists is ignored, and a new function stands behind the
others. So an old list does no harm, but it saves less.

usage: Scripts/order.py                     builds the release, runs it under valgrind, and writes the list
       Scripts/order.py --check [PROGRAM]   fails if a quarter of the listed functions do not exist in PROGRAM

PROGRAM has its symbols; it is .build-install/release/switchyard if it is left out. swift must be on PATH. Run by `make order`. If it fails, the
old list stays.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "Sources" / "Command" / "startup.order"
PROGRAM = ROOT / ".build-install" / "release" / "switchyard"
HEADER = "# The functions that a router calls until it waits for events, by `make order`. Scripts/order.py says what the list is for."
LEAST = 0.75
PATIENCE = 300  # seconds for a router under valgrind to listen and to end

# Plans that between them use what most routers use, the simplest one first.
HTTP = {"plugin": "http", "url": "http://127.0.0.1:9"}
PLANS = [
    {"sources": {"in": {"plugin": "http", "listen": "127.0.0.1:0"}}, "providers": {"out": HTTP}, "routes": [{"to": ["out"]}]},
    {
        "version": 1,
        "sources": {"in": {"plugin": "http", "listen": "127.0.0.1:0", "keys": {"web": {"secret": ["${env:ORDER_KEY}"]}}}},
        "keys": {"ids": "${env:ORDER_KEY}"},
        "consent": {"levels": ["none", "analytics"], "default": "none"},
        "providers": {
            "archive": {"plugin": "file", "path": "events.ndjson", "delivery": {"queue": {"disk": "1GB"}}},
            "crm": {**HTTP, "filter": {"events": ["Order *"]}, "transform": [{"drop": ["context.ip"]}]},
        },
        "routes": [
            {"events": ["Order *"], "match": {"context.app": "shop"}, "where": "properties.price > 0.0", "sample": {"rate": 0.5, "by": "userId"},
             "transform": [{"drop": ["context.ip"]}, {"hash": {"fields": ["userId"], "key": "ids"}}, {"set": {"properties.source": "web"}}],
             "to": ["archive", "crm"]},
        ],
    },
]



class Failure(Exception):
    """What a person must know when the list was not written, or is old."""


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--check", action="store_true")
    options.add_argument("program", nargs="?", type=pathlib.Path)
    options = options.parse_args()
    if options.program and not options.check:
        sys.exit(__doc__)
    try:
        check(options.program or PROGRAM) if options.check else write()
    except Failure as failure:
        sys.exit(f"switchyard: order: {failure}")


def write():
    with tempfile.TemporaryDirectory() as folder:
        # The router needs its modules and the Swift runtime, so it runs where it is installed.
        say("building and installing the release to a temporary folder")
        tree = os.path.join(folder, "tree")
        install = ROOT / "Scripts" / "install.sh"
        tool([install], env={**os.environ, "PREFIX": tree, "DESTDIR": ""}, stdout=sys.stderr, stderr=None)
        traced = os.path.join(tree, "bin", "switchyard")
        # valgrind cannot read the debugging information of a newer compiler, and needs only the symbols.
        tool(["strip", "--strip-debug", PROGRAM, "-o", traced])
        known = functions(PROGRAM)
        listed = {}
        for number, plan in enumerate(PLANS, start=1):
            say(f"running plan {number} of {len(PLANS)} under valgrind")
            # valgrind's order differs from run to run. In this one, a change of the list shows what was added and removed.
            listed.update(dict.fromkeys(sorted(known.intersection(called(traced, plan, folder)))))
    if not listed:
        raise Failure(f"no function that valgrind saw has a name in {PROGRAM}; {LIST} stays as it is")
    replace(LIST, "\n".join([HEADER, *listed]) + "\n")
    # SwiftPM does not know that the program depends on the list, and links it anew only if it is missing.
    PROGRAM.unlink()
    say(f"{len(listed)} functions are in {LIST.relative_to(ROOT)}; the next make install links the program in their order")


def check(program):
    try:
        names = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    except OSError as error:
        raise Failure(f"cannot read {LIST}: {error.strerror}: run 'make order'") from error
    known = functions(program)
    share = sum(name in known for name in names) / max(1, len(names))
    if share < LEAST:
        raise Failure(f"only {share:.0%} of the {len(names)} functions of {LIST.relative_to(ROOT)} exist in {program}: run 'make order'")


def called(program, plan, folder):
    """Runs the program with a plan until it listens, and yields the names of its functions that were called."""
    profile, plan_file = os.path.join(folder, "profile"), os.path.join(folder, "plan.json")
    with open(plan_file, "w") as file:
        json.dump(plan, file)
    state = tempfile.mkdtemp(dir=folder)
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", program, "run", "-c", plan_file, "--state", state]
    listens, said = run(command, folder)
    if not listens:
        raise Failure(f"the router did not listen within {PATIENCE} seconds, or ended before. It said:\n{said.strip()}")
    # Names are written once, with a number that stands for them later.
    objects, functions, current = {}, {}, ""
    with open(profile) as file:
        for line in file:
            found = re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?$", line)
            if not found:
                continue
            is_callee, kind, number, name = found.groups()
            table = objects if kind == "ob" else functions
            if name:
                table[number] = name
            if kind == "ob" and not is_callee:
                current = table[number]
            elif kind == "fn" and not is_callee and current == program:
                # A function that calls itself has the depth of the call behind its name.
                yield re.sub(r"'\d+$", "", table[number])


def run(command, folder):
    """Runs a router, and ends it when it listens. Returns whether it listened, and what it wrote to standard error."""
    environment = {**os.environ, "ORDER_KEY": "0123456789abcdef0123456789abcdef"}
    listens, said = False, []
    try:
        router = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, errors="replace")
    except FileNotFoundError as error:
        raise Failure(f"{command[0]} is not installed: run 'make order', which installs it") from error
    # A router that hangs closes its standard error only when it is killed.
    patience = threading.Timer(PATIENCE, router.kill)
    patience.start()
    try:
        with router:
            for line in router.stderr:
                said.append(line)
                if not listens and "listening at" in line:
                    listens = True
                    router.send_signal(signal.SIGTERM)
    finally:
        patience.cancel()
        if router.poll() is None:
            router.kill()
    if listens and router.returncode != 0:
        raise Failure(f"the router ended with {router.returncode}, so its profile is not whole. It said:\n{''.join(said).strip()}")
    return listens, "".join(said)


def functions(program):
    """Returns the names of all functions of a program that has its symbols."""
    names = {words[2] for words in map(str.split, tool(["nm", program]).splitlines()) if len(words) == 3 and words[1] in "tTwW"}
    if not names:
        raise Failure(f"{program} has no symbols; name a program that was not stripped")
    return names


def tool(command, **options):
    """Runs a program, and returns what it printed."""
    try:
        return subprocess.run(command, check=True, text=True, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}).stdout
    except FileNotFoundError as error:
        raise Failure(f"{command[0]} is not installed: run 'make order', which installs what it needs") from error
    except subprocess.CalledProcessError as error:
        raise Failure(f"{command[0]} ended with {error.returncode}" + (f": {error.stderr.strip()}" if error.stderr else "")) from error


def replace(path, text):
    """Writes a file beside the old one and renames it, so that the old one or the new one is there at every moment."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(text)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def say(words):
    print(f"switchyard: order: {words}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
