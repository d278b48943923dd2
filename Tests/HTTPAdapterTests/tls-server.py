#!/usr/bin/env python3
"""A TLS server for the tests, which implements just enough of HTTP/1.1 and HTTP/2. It prints its port and a report of each connection to
standard output.

usage: tls-server.py CERTIFICATE KEY [--client-ca FILE] [--newest 1.2] [--h2] [--early head|and-end] [--goaway before|after]
"""

import argparse
import socket
import ssl
import struct
import sys
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
STATUS_200 = b"\x88"  # an entry of HPACK's static table


def tell(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Left(Exception):
    pass


def exactly(stream, size):
    data = b""
    while len(data) < size:
        more = stream.recv(size - len(data))
        if not more:
            raise Left
        data += more
    return data


def http1(stream, number, note):
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            more = stream.recv(65536)
            if not more:
                return
            data += more
        head, data = data.split(b"\r\n\r\n", 1)
        size = next((int(l.split(b":")[1]) for l in head.split(b"\r\n") if l.lower().startswith(b"content-length:")), 0)
        data += exactly(stream, max(0, size - len(data)))
        data = data[size:]
        note(f"http/1.1 connection {number} {stream.version()}")
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def http2(stream, number, goaway, early, note):
    def send(kind, flags, of, payload=b""):
        stream.sendall(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", of) + payload)

    if exactly(stream, len(PREFACE)) != PREFACE:
        return
    send(SETTINGS, 0, 0)
    while True:
        head = exactly(stream, 9)
        size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        of = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
        payload = exactly(stream, size)
        if kind == SETTINGS and not flags & ACK:
            send(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            send(PING, ACK, 0, payload)
        elif kind == DATA and size:
            send(WINDOW_UPDATE, 0, 0, struct.pack(">I", size))
            send(WINDOW_UPDATE, 0, of, struct.pack(">I", size))
        if early and kind == HEADERS:
            send(HEADERS, END_HEADERS | (END_STREAM if early == "and-end" else 0), of, STATUS_200)
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            if early:
                if early != "and-end":
                    send(DATA, END_STREAM, of)
                continue
            note(f"h2 connection {number} stream {of}")
            if goaway == "before" and number == 1:
                send(GOAWAY, 0, 0, struct.pack(">II", 0, 0))
                return
            send(HEADERS, END_HEADERS | END_STREAM, of, STATUS_200)
            if goaway == "after" and number == 1:
                send(GOAWAY, 0, 0, struct.pack(">II", of, 0))
                # If the socket closed now, the kernel would reset the connection because of unread bytes, and the client could lose the
                # answer.
                stream.shutdown(socket.SHUT_WR)
                tell(f"connection {number} ended")
                while stream.recv(65536):
                    pass
                return


def serve(plain, number, context, goaway, early):
    requests = 0

    def note(text):
        nonlocal requests
        requests += 1
        tell(f"request {text}")

    try:
        with plain, context.wrap_socket(plain, server_side=True) as stream:
            if stream.selected_alpn_protocol() == "h2":
                http2(stream, number, goaway, early, note)
            else:
                http1(stream, number, note)
    except (Left, OSError):
        pass
    if not requests:
        tell(f"connection {number} ended without a request")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("certificate")
    parser.add_argument("key")
    parser.add_argument("--client-ca")
    parser.add_argument("--newest")
    parser.add_argument("--h2", action="store_true")
    parser.add_argument("--goaway")
    parser.add_argument("--early", choices=["head", "and-end"])
    options = parser.parse_args()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate, options.key)
    context.set_alpn_protocols(["h2", "http/1.1"] if options.h2 or options.goaway or options.early else ["http/1.1"])
    if options.newest == "1.2":
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if options.client_ca:
        context.load_verify_locations(options.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED

    listener = socket.create_server(("127.0.0.1", 0))
    tell(f"port {listener.getsockname()[1]}")
    number = 0
    while True:
        plain, _ = listener.accept()
        number += 1
        threading.Thread(target=serve, args=(plain, number, context, options.goaway, options.early), daemon=True).start()


main()
