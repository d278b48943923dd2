"""Runs an nginx on loopback that reads every request to its end and answers 204, as the server for deliveries over HTTP.

`return 204;` alone is not enough: it answers as soon as the head of a request has arrived, and discards the body. Switchyard does not count
such an early answer as delivered and sends the events again. With `mirror`, nginx first reads the whole body for the mirror, which discards
it. Then nginx looks for a file that does not exist, and the error page is the answer 204.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import time

from harness.measure import Failure

PROGRAM = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log crit;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_max_body_size 64m;
    client_body_buffer_size 2m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/nothing;
        location / {{
            mirror /read;
            error_page 403 404 405 =204 @answer;
        }}
        location = /read {{
            internal;
            return 204;
        }}
        location @answer {{
            return 204;
        }}
    }}
}}
"""


@contextlib.contextmanager
def serving(folder):
    """Runs nginx during a with block, which gets its port. nginx writes its files into the folder."""
    port = free_port()
    path = os.path.join(folder, "nginx.conf")
    with open(path, "w") as file:
        file.write(CONFIGURATION.format(folder=folder, port=port))
    server = subprocess.Popen([PROGRAM, "-p", folder, "-c", path], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_open(server, port, "nginx")
        yield port
    finally:
        server.terminate()
        server.wait()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def wait_until_open(server, port, name):
    for _ in range(500):
        if server.poll() is not None:
            raise Failure(f"{name} ended at once with exit code {server.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.01)
    raise Failure(f"{name} does not answer on port {port}")
