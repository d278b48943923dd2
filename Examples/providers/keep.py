#!/usr/bin/env python3
# A provider in Python that can erase: "plugin": "exec", "command": ["Examples/providers/keep.py", "events.db"], "erase": true. It stores
# events in a database. An event is an object, and the message that asks to erase people is a list.
import json, sqlite3, sys

store = sqlite3.connect(sys.argv[1])
store.execute("PRAGMA secure_delete = ON")
store.execute("CREATE TABLE IF NOT EXISTS events (event TEXT NOT NULL)")


def member(event, path):
    for name in path.split("."):
        event = event.get(name) if isinstance(event, dict) else None
    return event


def erase(subjects):
    with store:
        for row, text in store.execute("SELECT rowid, event FROM events").fetchall():
            event = json.loads(text)
            if any(str(member(event, subject["member"])) == subject["id"] for subject in subjects):
                store.execute("DELETE FROM events WHERE rowid = ?", (row,))
    return {"erase": "confirmed"}


for line in sys.stdin:
    message = json.loads(line)
    if isinstance(message, list) and message[0] == "erase":
        answer = erase(message[1]["subjects"])
    else:
        with store:
            store.execute("INSERT INTO events VALUES (?)", (line.rstrip("\n"),))
        answer = {"outcome": "delivered"}
    print(json.dumps(answer), flush=True)
