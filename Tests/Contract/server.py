# Answers every request with the status that its path names, /reset by closing the connection; writes its address to a file.
import http.server, os, sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/reset":
            self.close_connection = True
            return
        self.send_response(int(self.path[1:]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"http://127.0.0.1:{server.server_address[1]}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
