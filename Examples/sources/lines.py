#!/usr/bin/env python3
"""A source in Python: the lines of a file, once each, also over restarts.

usage: lines.py FILE

    "sources": { "file": { "plugin": "exec", "command": ["Examples/sources/lines.py", "events.ndjson"] } }

It writes the lines to its standard output, reads on its standard input how far they are safe, and keeps that place in FILE.place. So it
goes on there after any end, and ends with 0 when all of the file is safe.
"""
import os
import sys
import threading

path = sys.argv[1]
place = path + ".place"


def read_place():
    try:
        with open(place) as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def keep(offset):
    with open(place + ".new", "w") as file:
        file.write(str(offset))
    os.replace(place + ".new", place)


# The end of each line, so that the number of a line gives its place in the file.
ends = [read_place()]
with open(path, "rb") as file:
    file.seek(ends[0])
    lines = [line for line in file if line.endswith(b"\n")]
for line in lines:
    ends.append(ends[-1] + len(line))


def write():
    # The router reads as much as it has room for, so this may wait. The numbers are read meanwhile.
    sys.stdout.buffer.writelines(lines)
    sys.stdout.buffer.flush()


threading.Thread(target=write, daemon=True).start()
safe = 0
while safe < len(lines):
    number = sys.stdin.readline()
    if not number:
        # The router ends. What is not safe comes again with the next start.
        os._exit(0)
    safe = int(number)
    keep(ends[safe])
