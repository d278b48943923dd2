#!/usr/bin/env python3
# A provider in Python: "plugin": "exec", "command": ["Examples/providers/shout.py"]. It reads events and writes one answer for each.
import json, sys

for line in sys.stdin:
    event = json.loads(line)
    if "event" in event:
        print(event["event"].upper(), file=sys.stderr)
        print(json.dumps({"outcome": "delivered"}), flush=True)
    else:
        print(json.dumps({"outcome": "rejected", "code": 1, "message": "the event has no name"}), flush=True)
