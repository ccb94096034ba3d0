"""A server that speaks as much of S3 as ClickHouse needs to write backups and Tambour to read, on loopback. Objects are files below a
directory; `faults` says what goes wrong with the next objects that are read."""

import hashlib
import http.server
import pathlib
import re
import threading
import time
import urllib.parse
import xml.sax.saxutils


TAGS = {}


def tag(path):
    """The tag of a file's contents, which are read once."""
    seen = path.stat()
    key = (path, seen.st_mtime_ns, seen.st_size)
    if key not in TAGS:
        TAGS[key] = hashlib.md5(path.read_bytes()).hexdigest()
    return TAGS[key]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

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
        body = self.body()
        if "delete" in query:
            for key in re.findall(r"<Key>(.*?)</Key>", body.decode()):
                (path / xml.sax.saxutils.unescape(key)).unlink(missing_ok=True)
            self.xml(200, "<DeleteResult></DeleteResult>")
        elif "uploads" in query:
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
            return self.xml(200, self.listing(path, query))
        self.server.requests.append((self.command, self.path, self.headers.get("Range")))
        fault = self.server.faults.pop(0) if self.server.faults and self.command == "GET" else None
        if fault == "busy":
            return self.xml(503, "<Error><Code>SlowDown</Code></Error>")
        if not path.is_file():
            return self.xml(404, "<Error><Code>NoSuchKey</Code></Error>")
        total, start, end = path.stat().st_size, 0, ""
        head = {"ETag": f'"{tag(path)}"', "Last_Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        if self.headers.get("If-Match", head["ETag"]) != head["ETag"]:
            return self.answer(412)
        code, wanted = 200, self.headers.get("Range")
        if wanted and self.command == "GET":
            start, end = wanted.removeprefix("bytes=").split("-")
            code = 206
        with path.open("rb") as file:
            file.seek(int(start))
            body = file.read(int(end) + 1 - int(start) if end else -1)
        if code == 206:
            head["Content_Range"] = f"bytes {start}-{int(start) + len(body) - 1}/{total}"
        if fault in ("truncate", "stall"):
            self.close_connection = True
            self.answer(code, body[:len(body) // 2], length=len(body), **head)
            self.wfile.flush()
            time.sleep(30 if fault == "stall" else 0)
        else:
            self.answer(code, body, **head)

    def listing(self, bucket, query):
        """One page of ListObjectsV2; its continuation token is the last name of the page before."""
        prefix, after, found = query.get("prefix", ""), query.get("continuation-token", ""), {}
        for file in sorted(file for file in bucket.rglob("*") if file.is_file()):
            key = file.relative_to(bucket).as_posix()
            rest = key.removeprefix(prefix)
            if not key.startswith(prefix):
                continue
            if "delimiter" in query and "/" in rest:
                found[f"{prefix}{rest.split('/')[0]}/"] = None
            else:
                found[key] = file
        names = [name for name in sorted(found) if name > after]
        text = ""
        for name in names[:self.server.page]:
            shown = xml.sax.saxutils.escape(name)
            if found[name] is None:
                text += f"<CommonPrefixes><Prefix>{shown}</Prefix></CommonPrefixes>"
                continue
            size = found[name].stat().st_size
            text += (f"<Contents><Key>{shown}</Key><Size>{size}</Size><ETag>&quot;{tag(found[name])}&quot;</ETag>"
                     f"<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>")
        more = len(names) > self.server.page
        if more:
            token = xml.sax.saxutils.escape(names[self.server.page - 1])
            text += f"<NextContinuationToken>{token}</NextContinuationToken>"
        return f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{text}</ListBucketResult>"

    do_HEAD = do_GET

    def do_DELETE(self):
        self.target()[0].unlink(missing_ok=True)
        self.answer(204)


class Objects:
    """The server, for a `with` statement."""

    def __init__(self, root):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.root, self.server.uploads = pathlib.Path(root), {}
        self.server.faults, self.server.requests, self.server.page = [], [], 1000
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
