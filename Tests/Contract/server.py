# Answers every request with the status that its path names, /reset by closing the connection, and /keep/PATH with 200 once its body
# stands in the file of that path, which must lie among the temporary files. Writes its address to a file.
import http.server, os, sys, tempfile


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/reset":
            self.close_connection = True
            return
        if self.path.startswith("/keep/"):
            path = os.path.realpath(self.path[len("/keep"):])
            assert path.startswith(os.path.realpath(tempfile.gettempdir()) + "/")
            with open(path, "ab") as file:
                file.write(body)
            self.path = "/200"
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
