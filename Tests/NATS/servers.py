"""Real servers of NATS on loopback, alone or as a cluster, which can be killed and started again."""

import os
import shutil
import signal
import socket
import subprocess

from client import until_ready

PROGRAM = shutil.which("nats-server") or "/usr/sbin/nats-server"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Servers:
    """`count` servers with file storage. `more` is added to the configuration of each."""

    def __init__(self, folder, count, more=""):
        self.folder, self.count, self.more = folder, count, more
        ports = free_ports(2 * count)
        self.ports, self.routes = ports[:count], ports[count:]
        self.running = [None] * count
        for number in range(count):
            self.start(number)

    def start(self, number):
        cluster = ""
        if self.count > 1:
            routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in self.routes)
            cluster = f'cluster {{ name: "check", listen: "127.0.0.1:{self.routes[number]}", routes: [{routes}] }}\n'
        path = os.path.join(self.folder, f"server-{number}.conf")
        with open(path, "w") as file:
            file.write(f'server_name: "s{number}"\nlisten: "127.0.0.1:{self.ports[number]}"\n{cluster}'
                       f'jetstream {{ store_dir: "{self.folder}/store-{number}" }}\n{self.more}\n')
        log = open(os.path.join(self.folder, f"server-{number}.log"), "ab")
        self.running[number] = subprocess.Popen([PROGRAM, "-c", path], stdout=log, stderr=log)
        log.close()

    def kill(self, number):
        self.running[number].send_signal(signal.SIGKILL)
        self.running[number].wait()

    def client(self, number=0, options=None):
        return until_ready(self.ports[number], options=options)

    def close(self):
        for server in self.running:
            if server and server.poll() is None:
                server.kill()
                server.wait()
