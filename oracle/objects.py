"""A server that speaks as much of S3 as ClickHouse needs to write backups, on loopback. Objects are files below a directory."""

import hashlib
import http.server
import pathlib
import threading
import urllib.parse
import xml.sax.saxutils


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def target(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        return self.server.root / urllib.parse.unquote(url.path).lstrip("/"), query

    def body(self):
        assert "aws-chunked" not in self.headers.get("Content-Encoding", "")
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, code, body=b"", length=None, **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def xml(self, code, text):
        self.answer(code, f'<?xml version="1.0"?>{text}'.encode(), Content_Type="application/xml")

    def do_PUT(self):
        path, query = self.target()
        body = self.body()
        source = self.headers.get("x-amz-copy-source")
        if source:
            body = (self.server.root / urllib.parse.unquote(source).lstrip("/")).read_bytes()
        tag = f'"{hashlib.md5(body).hexdigest()}"'
        if "uploadId" in query:
            self.server.uploads[query["uploadId"]][int(query["partNumber"])] = body
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        copied = f"<CopyObjectResult><ETag>{tag}</ETag></CopyObjectResult>" if source else ""
        self.answer(200, copied.encode(), ETag=tag)

    def do_POST(self):
        path, query = self.target()
        self.body()
        if "uploads" in query:
            name = str(len(self.server.uploads))
            self.server.uploads[name] = {}
            self.xml(200, f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>")
        elif "uploadId" in query:
            pieces = self.server.uploads[query["uploadId"]]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(pieces[number] for number in sorted(pieces)))
            self.xml(200, '<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>')
        else:
            self.answer(400)

    def do_GET(self):
        path, query = self.target()
        if "list-type" in query:
            found = [(file.relative_to(path), file.stat().st_size) for file in sorted(path.rglob("*")) if file.is_file()]
            found = [(name, size) for name, size in found if str(name).startswith(query.get("prefix", ""))]
            contents = "".join(
                f"<Contents><Key>{xml.sax.saxutils.escape(str(name))}</Key><Size>{size}</Size>"
                f"<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>" for name, size in found)
            self.xml(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>")
        elif not path.is_file():
            self.xml(404, "<Error><Code>NoSuchKey</Code></Error>")
        else:
            body = path.read_bytes()
            wanted = self.headers.get("Range")
            if wanted and self.command == "GET":
                start, end = wanted.removeprefix("bytes=").split("-")
                piece = body[int(start):int(end) + 1 if end else None]
                self.answer(206, piece, Content_Range=f"bytes {start}-{int(start) + len(piece) - 1}/{len(body)}", ETag='"x"')
            else:
                self.answer(200, body, ETag='"x"', Last_Modified="Thu, 01 Jan 2026 00:00:00 GMT")

    do_HEAD = do_GET

    def do_DELETE(self):
        self.target()[0].unlink(missing_ok=True)
        self.answer(204)


class Objects:
    """The server, for a `with` statement."""

    def __init__(self, root):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.root, self.server.uploads = pathlib.Path(root), {}
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
