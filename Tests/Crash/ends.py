"""Two more vendors for Tests/Crash/erasures, each with a log as that of vendor.c: a server for the provider `http`, and a program for `exec`.

Each notes the events that it gets (event ID), the ids that it is asked to erase (ask ID) and those that it has erased (erased ID). With "moods" it
answers an ask as chance wants. It confirms only what its log says is erased. With "lies" it confirms without that.

As a program: ends.py LOG MOOD
"""

import fcntl
import http.server
import json
import os
import random
import select
import sys
import threading
import time
import urllib.parse


class Log:
    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def note(self, word, people):
        for person in people:
            os.write(self.file, f"{word} {person}\n".encode())


class Handler(http.server.BaseHTTPRequestHandler):
    """A service that stores events, erases a user at once or by a job, and is asked about the job."""

    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.count(1)

    def finish(self):
        super().finish()
        self.server.count(-1)

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.log.note("event", (json.loads(line)["userId"] for line in body.splitlines()))
        self.answer(200)

    def do_DELETE(self):
        person = urllib.parse.unquote(self.path.rsplit("/", 1)[1])
        self.server.log.note("ask", [person])
        self.decide(person, None)

    def do_GET(self):
        job = self.path.rsplit("/", 1)[1]
        person = self.server.jobs.get(job)
        if person is None:
            return self.answer(404)
        self.server.log.note("ask", [person])
        self.decide(person, job)

    def decide(self, person, job):
        mood = self.server.mood
        choice = random.randrange(9) if mood == "moods" else 9 if mood == "lies" else 8
        if choice == 0:
            return self.answer(429, Retry_After="1")
        if choice == 1:
            return self.answer(500, b"oops")
        if choice == 2:
            # It never answers. The client leaves.
            select.select([self.connection], [], [])
            self.close_connection = True
            return None
        if choice == 3:
            # A success that no rule knows, about somebody else.
            return self.answer(200, b'{"gone":["somebody-else"]}')
        if choice == 4:
            self.close_connection = True
            return self.wfile.write(b"HTTP/1.1 204 Go")
        if choice == 5:
            return self.answer(302, Location="/gone")
        if choice == 6 and job is None:
            number = f"{random.getrandbits(32):x}"
            self.server.jobs[number] = person
            return self.answer(202, X_Job=number)
        if choice == 7 and job is not None:
            # The job is lost, and begins anew.
            del self.server.jobs[job]
            return self.answer(404)
        if choice < 9:
            self.server.log.note("erased", [person])
        return self.answer(204)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, log, mood):
        super().__init__(("127.0.0.1", 0), Handler)
        self.log, self.mood, self.jobs = Log(log), mood, {}
        self.open, self.changed = 0, threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """A client that was killed is no fault."""

    def count(self, change):
        with self.changed:
            self.open += change
            self.changed.notify_all()

    def wait_until_idle(self, patience):
        """Waits until every connection of a dead client has ended, so that nothing that it sent is noted later."""
        with self.changed:
            return self.changed.wait_for(lambda: self.open == 0, patience)

    def provider(self):
        url = f"http://127.0.0.1:{self.server_port}"
        return {
            "plugin": "http", "url": f"{url}/events", "timeout": {"connect": "5s", "total": "300ms"},
            "erase": {
                "url": url, "method": "DELETE", "path": "'/users/' + id", "poll": {"path": "'/jobs/' + state"},
                "answers": [
                    {"where": "status == 204", "outcome": "confirmed"},
                    {"where": "status == 202", "outcome": "again", "state": "headers['x-job']"},
                    {"where": "status == 404 && state != ''", "outcome": "again", "state": "''"},
                ]}}


def program(log, mood):
    # Of two programs the second waits for the end of the first, so that nothing that the first one has read is noted later.
    lock = os.open(log + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    log = Log(log)

    def say(answer):
        print(json.dumps(answer), flush=True)

    for line in sys.stdin:
        message = json.loads(line)
        if isinstance(message, dict):
            log.note("event", [message["userId"]])
            say({"outcome": "delivered"})
            continue
        subjects, state = message[1]["subjects"], message[1]["state"]
        people = [subject["id"] for subject in subjects]
        log.note("ask", people)
        choice = random.randrange(9) if mood == "moods" else 9 if mood == "lies" else 8
        confirmed = {"erase": "confirmed"}
        if choice == 0:
            say({"erase": "again", "message": "busy", "retry_after_ms": 1000})
        elif choice == 1:
            say({"erase": "again", "state": "job 7", "message": "at work"})
        elif choice == 2:
            time.sleep(3600)
        elif choice == 3:
            sys.exit(3)
        elif choice == 4:
            sys.stdout.write(2 * (json.dumps(confirmed) + "\n"))
            sys.stdout.flush()
        elif choice == 5:
            say({"erase": "again", "subjects": [{"member": "userId", "id": "somebody-else", "erase": "confirmed"}]})
        elif choice == 6:
            say({"erase": "confirmed", "outcome": "delivered"})
        elif choice == 7 and not state:
            # The first subject is erased, and the others are not.
            log.note("erased", people[:1])
            say({"erase": "again", "state": "half", "subjects": [{**subjects[0], "erase": "confirmed"}]})
        else:
            if choice < 9:
                log.note("erased", people)
            say(confirmed)


def program_provider(log, mood):
    return {"plugin": "exec", "command": [sys.executable, os.path.abspath(__file__), log, mood], "erase": True, "timeout": "300ms"}


if __name__ == "__main__":
    program(*sys.argv[1:])
