"""Credentials, TLS and limits of a real server: what is accepted, what is a fault, and what is refused."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from client import Client
from servers import Servers

SECRET = "hunter22-of-nats"


def certificates(folder):
    """Makes an authority, and certificates of a server for localhost and of a client."""
    def run(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=check")
    for name, extension in (("server", "subjectAltName=DNS:localhost"), ("client", "extendedKeyUsage=clientAuth")):
        run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        with open(os.path.join(folder, f"{name}.ext"), "w") as file:
            file.write(extension + "\n")
        run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.pem", "-days", "2",
            "-extfile", f"{name}.ext")


class Case:
    """A server with a configuration, and what providers with some settings find."""

    def __init__(self, router, more, settings, options=None, scheme="nats", tls=False):
        self.router, self.more, self.options, self.settings, self.scheme, self.tls = router, more, options, settings, scheme, tls

    def run(self, folder):
        servers = Servers(folder, 1, self.more)
        try:
            port = servers.ports[0]
            if not self.tls:
                client = servers.client(options=self.options)
                client.make_stream("EVENTS", ["events.>"], max_msg_size=2000)
                client.close()
            providers = {name: {"plugin": "nats", "servers": f"{host}:{port}", "subject": "events.{type}", **settings}
                         for name, (host, settings) in self.settings.items()}
            path = os.path.join(folder, "routes.json")
            with open(path, "w") as file:
                json.dump({"providers": providers, "routes": [{"to": list(providers)}]}, file)
            done = subprocess.run([self.router, "check", "--connect", path], capture_output=True, text=True, timeout=120)
            return done.stdout + done.stderr
        finally:
            servers.close()


def expect(text, *lines):
    for line in lines:
        if line not in text:
            sys.exit(f"nats: expected '{line}' in:\n{text}")
    if SECRET in text:
        sys.exit(f"nats: a secret is shown in:\n{text}")


def check_access(router):
    folder = tempfile.mkdtemp(prefix="switchyard-nats-access-")

    def fresh(name):
        path = os.path.join(folder, name)
        os.mkdir(path)
        return path

    here = "nats://127.0.0.1"
    user = f'authorization {{ users: [{{ user: "me", password: "{SECRET}", permissions: {{ publish: ["events.>", "$JS.>"] }} }}] }}'
    text = Case(router, user, {"good": (here, {"user": "me", "password": SECRET}), "bad": (here, {"user": "me", "password": "wrong"}),
                               "none": (here, {}), "other": (here, {"user": "me", "password": SECRET, "subject": "other"})},
                options={"user": "me", "pass": SECRET}).run(fresh("user"))
    expect(text, "good: ok", "bad: refused", "none: refused", "other: refused", "no stream takes 'other'")
    text = Case(router, f'authorization {{ token: "{SECRET}" }}', {"good": (here, {"token": SECRET}), "bad": (here, {"token": "wrong"})},
                options={"auth_token": SECRET}).run(fresh("token"))
    expect(text, "good: ok", "bad: refused")

    own = fresh("tls")
    certificates(own)
    tls = f'tls {{ cert_file: "{own}/server.pem", key_file: "{own}/server.key", ca_file: "{own}/ca.pem", verify: true }}'
    files = {"ca": f"{own}/ca.pem", "certificate": f"{own}/client.pem", "key": f"{own}/client.key"}
    text = Case(router, tls, {
        "good": ("tls://localhost", {"tls": files}), "name": ("tls://127.0.0.1", {"tls": files}),
        "authority": ("tls://localhost", {"tls": {**files, "ca": "/etc/ssl/certs/ca-certificates.crt"}}),
        "plain": ("nats://localhost", {})}, tls=True).run(own)
    # The server has no stream, so the connection worked if the answer is about streams.
    expect(text, "good: refused", "no stream takes 'events.*'", "name: refused", "authority: refused", "plain: refused")
    for line in text.splitlines():
        if line.startswith(("name:", "authority:", "plain:")) and "no stream" in line:
            sys.exit(f"nats: a connection was made that must not be made: {line}")
    shutil.rmtree(folder)
    print("nats: credentials and TLS of a real server: accepted and refused as they should be, and no secret is shown")


__all__ = ["Client", "check_access"]
