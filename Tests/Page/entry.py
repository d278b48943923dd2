"""What requests to the page get, without a browser: nothing without a session, from another place or without the token."""

import http.client


class Client:
    """Sends single requests to the address of admin."""

    def __init__(self, port):
        self.port = port
        self.origin = f"http://127.0.0.1:{port}"

    def ask(self, method, path, headers=None, body=""):
        """Returns the status, the headers and the body of the answer. A header that is None is left out."""
        sent = {"Host": f"127.0.0.1:{self.port}", "Content-Length": str(len(body)), **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body.encode())
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def enter(self, link, headers=None):
        return self.ask("POST", "/page/enter", {"Origin": self.origin, **(headers or {})}, "code=" + link.split("#")[1])

    def session(self, link):
        """Returns the headers of a request that may change something."""
        cookie = self.enter(link)[1]["Set-Cookie"].split(";")[0]
        token = self.ask("GET", "/page/data/session", {"Cookie": cookie})[2].split('"')[3]
        return {"Cookie": cookie, "Origin": self.origin, "X-Switchyard-Token": token}


def check_entry(check, port, link):
    """`link` makes a new link."""
    client = Client(port)
    policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; " \
        "form-action 'self'; frame-ancestors 'none'"
    for method, path in [(method, path) for method in ["GET", "POST", "PUT"] for path in [
            "page.js", "page.html", "data/status", "data/flow", "data/session", "data/letters", "tap", "replay", "nothing"]]:
        status, headers, body = client.ask(method, "/page/" + path, {"Origin": client.origin})
        check(status == 401 and not body, f"{method} {path} without a session gets {status} {body}")
        check(headers["Content-Security-Policy"] == policy, f"the policy of {path} is {headers['Content-Security-Policy']}")
    once = link()
    for foreign in [{"Origin": None}, {"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}]:
        status, _, body = client.enter(once, foreign)
        check(status == 403 and not body, f"an entry with {foreign} gets {status} {body}")
    check(client.enter(once)[0] == 200 and client.enter(once)[0] == 401, "a link does not open the page once")
    session = client.session(link())
    check(client.ask("GET", "/page/data/status", session)[0] == 200, "the session shows no status")
    for foreign in [{"Host": f"evil.example:{port}"}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                    {"Sec-Fetch-Site": "same-site"}]:
        for path in ["", "page.js", "data/status", "data/session"]:
            status, _, body = client.ask("GET", "/page/" + path, {**session, **foreign})
            check(status == 403 and not body, f"/page/{path} with {foreign} gets {status} {body}")
    for wrong in [{"Origin": None}, {"Origin": "null"}, {"X-Switchyard-Token": None}, {"X-Switchyard-Token": "0"}]:
        status, _, body = client.ask("POST", "/page/leave", {**session, **wrong})
        check(status == 403 and not body, f"a change with {wrong} gets {status} {body}")
    check(client.ask("POST", "/page/leave", session)[0] == 200, "the session cannot be ended")
    check(client.ask("GET", "/page/data/status", session)[0] == 401, "the session has not ended")
