#!/usr/bin/env python3
"""Lists the functions that a router calls until it waits for events, in the order of their first call.

The linker places these functions side by side (Package.swift). The kernel maps code in blocks of 64 KB around what is called, so without this
order a router that waits has mapped most of its program. A name that no longer exists is ignored; a new function stands behind the others. So
the list needs not be right, only mostly right.

usage: Scripts/order.py PREFIX PROGRAM >Sources/Command/startup.order
       Scripts/order.py --check PROGRAM <Sources/Command/startup.order

PREFIX is an installed tree, and PROGRAM the same program with its symbols, such as .build-install/release/switchyard. `make order` does both.
--check fails if a quarter of the listed functions do not exist in PROGRAM.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HEADER = "# The functions that a router calls until it waits for events, by `make order`. Scripts/order.py says what the list is for."
LEAST = 0.75
PATIENCE = 300

# Plans that between them use what most routers use.
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


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--check":
        return check(arguments[1], [line for line in sys.stdin.read().splitlines() if not line.startswith("#")])
    if len(arguments) != 2:
        sys.exit(__doc__)
    prefix, program = arguments
    known = functions(program)
    names = {}
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "tree")
        shutil.copytree(prefix, tree)
        traced = os.path.join(tree, "bin", "switchyard")
        # valgrind cannot read the debugging information of a newer compiler, and needs only the symbols.
        subprocess.run(["strip", "--strip-debug", program, "-o", traced], check=True)
        for plan in PLANS:
            names.update(dict.fromkeys(called(traced, plan, folder)))
    print(HEADER, *(name for name in names if name in known), sep="\n")


def called(program, plan, folder):
    """Runs the program with a plan until it listens, and yields the names of its functions in the order of their first call."""
    profile, plan_file, state = (os.path.join(folder, name) for name in ("profile", "plan.json", "state"))
    with open(plan_file, "w") as file:
        json.dump(plan, file)
    shutil.rmtree(state, ignore_errors=True)
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", program, "run", "-c", plan_file, "--state", state]
    environment = {**os.environ, "ORDER_KEY": "0123456789abcdef0123456789abcdef"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        said = []
        for line in run.stderr:
            said.append(line)
            if "listening at" in line:
                run.send_signal(signal.SIGTERM)
        run.wait(PATIENCE)
    if not any("listening at" in line for line in said):
        sys.exit("order: the router did not listen:\n" + "".join(said))
    objects, functions, current = {}, {}, ""
    with open(profile) as file:
        for line in file:
            # Names are written once, with a number that stands for them later.
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
                yield re.sub(r"'\d+$", "", table[number])


def functions(program):
    """Returns the names of all functions of a program that has its symbols."""
    table = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return {words[2] for words in map(str.split, table.splitlines()) if len(words) == 3 and words[1] in "tTwW"}


def check(program, names):
    known = functions(program)
    share = sum(name in known for name in names) / max(1, len(names))
    if share < LEAST:
        sys.exit(f"order: only {share:.0%} of the functions of Sources/Command/startup.order exist in {program}: run 'make order'")


if __name__ == "__main__":
    main(sys.argv[1:])
