# Answers each request with the status at the beginning of its path. For /reset it closes the connection. For /keep/PATH it appends the
# body to that file, which must be in the folder for temporary files, and then answers 200. It writes its own address to a file.
import http.server, os, sys, tempfile


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.split("/")[1] == "reset":
            self.close_connection = True
            return
        if self.path.startswith("/keep/"):
            path = os.path.realpath(self.path[len("/keep"):])
            assert path.startswith(os.path.realpath(tempfile.gettempdir()) + "/")
            with open(path, "ab") as file:
                file.write(body)
            self.path = "/200"
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"http://127.0.0.1:{server.server_address[1]}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
