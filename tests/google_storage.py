# SPDX-License-Identifier: Apache-2.0
"""A server of Google's XML API for storage, as far as its pages say what clients of tables ask: objects with generations, preconditions, ranges, lists
in pages, uploads in parts, and no more than one change of an object in a while.

https://cloud.google.com/storage/docs/xml-api/overview, .../request-preconditions, .../quotas
"""

import collections
import email.utils
import hashlib
import http.server
import itertools
import re
import threading
import time
import urllib.parse
import xml.etree.ElementTree
from xml.sax.saxutils import escape

#: Objects of a list that come at once. Google's are 1000: here lists of a test take several.
PAGE = 7
#: Seconds between two changes of one object, of which Google allows one a second.
BETWEEN = 0.2
NAMESPACE = "http://doc.s3.amazonaws.com/2006-03-01"

Object = collections.namedtuple("Object", "body generation changed")


class Storage:
    """Buckets on a port of this machine, in memory. ``calls`` has the method and the path of every request, ``refused`` those that came too soon."""

    def __init__(self):
        self.objects, self.uploads, self.calls, self.refused, self.tokens = {}, {}, [], [], set()
        self.lock, self.numbers = threading.Lock(), itertools.count(1_700_000_000_000_001)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"storage": self}))
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def put(self, name, body):
        """Makes an object, or replaces it."""
        self.objects[name] = Object(body, next(self.numbers), time.time())
        return self.objects[name]

    def stop(self):
        """Ends it."""
        self.server.shutdown()
        self.server.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    storage = None

    def log_message(self, *_):
        """Says nothing."""

    def answer(self, status, body=b"", **headers):
        """Sends an answer; headers with `_` for `-`."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def error(self, status, code):
        """Sends a refusal in XML."""
        self.answer(status, f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode())

    def handle_any(self):
        """Any request."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, _, query = self.path.partition("?")
        name, query = urllib.parse.unquote(path).lstrip("/"), dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        storage = self.storage
        storage.tokens.add(self.headers.get("Authorization"))
        with storage.lock:
            storage.calls.append((self.command, name))
            if "/" not in name:
                return self.list(name, query) if self.command == "GET" else self.error(405, "MethodNotAllowed")
            known = storage.objects.get(name)
            if self.command in ("GET", "HEAD"):
                return self.read(known, query)
            if self.command == "DELETE" and "uploadId" in query:
                storage.uploads.pop(query["uploadId"], None)
                return self.answer(204)
            if self.command == "POST" and "uploads" in query:
                upload = f"upload-{next(storage.numbers)}"
                storage.uploads[upload] = {}
                return self.answer(200, f"<InitiateMultipartUploadResult xmlns='{NAMESPACE}'><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>".encode())
            if "partNumber" in query:
                storage.uploads[query["uploadId"]][int(query["partNumber"])] = body
                return self.answer(200, ETag=tag(body))
            wanted = self.headers.get("x-goog-if-generation-match")
            if wanted is not None and wanted != str(known.generation if known else 0):
                return self.error(412, "PreconditionFailed")
            if known is not None and time.time() - known.changed < BETWEEN:
                storage.refused.append(name)
                return self.error(429, "SlowDown")
            if self.command == "DELETE":
                if known is None:
                    return self.error(404, "NoSuchKey")
                del storage.objects[name]
                return self.answer(204)
            if self.command == "PUT" and "x-goog-copy-source" in self.headers:
                source = storage.objects.get(urllib.parse.unquote(self.headers["x-goog-copy-source"]).lstrip("/"))
                if source is None:
                    return self.error(404, "NoSuchKey")
                made = storage.put(name, source.body)
                return self.answer(200, b"<CopyObjectResult/>", ETag=tag(made.body), x_goog_generation=made.generation)
            if self.command == "PUT":
                made = storage.put(name, body)
                return self.answer(200, ETag=tag(body), x_goog_generation=made.generation)
            return self.complete(name, query, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def complete(self, name, query, body):
        """Ends an upload in parts, of which the request names all."""
        parts = self.storage.uploads.pop(query.get("uploadId"), None)
        if parts is None:
            return self.error(404, "NoSuchUpload")
        named = [int(number.text) for number in xml.etree.ElementTree.fromstring(body).iter() if number.tag.endswith("PartNumber")]
        if named != sorted(parts):
            return self.error(400, "InvalidPart")
        made = self.storage.put(name, b"".join(parts[number] for number in named))
        text = f"<CompleteMultipartUploadResult xmlns='{NAMESPACE}'><ETag>{escape(tag(made.body))}</ETag></CompleteMultipartUploadResult>"
        return self.answer(200, text.encode(), x_goog_generation=made.generation)

    def read(self, known, query):
        """An object, or a range of it."""
        if known is None or query.get("generation", str(known.generation)) != str(known.generation):
            return self.error(404, "NoSuchKey")
        body, size = known.body, len(known.body)
        headers = {"ETag": tag(body), "x_goog_generation": known.generation, "Last_Modified": email.utils.formatdate(known.changed, usegmt=True)}
        if self.headers.get("If-Match", tag(body)) != tag(body):
            return self.error(412, "PreconditionFailed")
        if self.headers.get("If-None-Match") == tag(body):
            return self.answer(304, **headers)
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not found:
            return self.answer(200, body, Content_Length=size, **headers)
        first, last = found.groups()
        start, end = (int(first), min(int(last or size), size - 1)) if first else (max(size - int(last), 0), size - 1)
        if start >= size:
            return self.error(416, "InvalidRange")
        return self.answer(206, body[start : end + 1], Content_Range=f"bytes {start}-{end}/{size}", **headers)

    def list(self, bucket, query):
        """Objects by prefix and delimiter, a page at a time."""
        prefix, delimiter = f"{bucket}/{query.get('prefix', '')}", query.get("delimiter")
        after = query.get("continuation-token") or query.get("start-after", "")
        entries = {}
        for name in sorted(self.storage.objects):
            if name.startswith(prefix):
                key, rest = name[len(bucket) + 1 :], name[len(prefix) :]
                if delimiter and delimiter in rest:
                    key = key[: len(key) - len(rest)] + rest.split(delimiter)[0] + delimiter
                    entries[key] = None
                else:
                    entries[key] = self.storage.objects[name]
        keys = sorted(key for key in entries if key > after)
        shown = keys[:PAGE]
        text = [f"<?xml version='1.0' encoding='UTF-8'?><ListBucketResult xmlns='{NAMESPACE}'><Name>{bucket}</Name><KeyCount>{len(shown)}</KeyCount>"]
        for key in shown:
            known = entries[key]
            if known is None:
                text.append(f"<CommonPrefixes><Prefix>{escape(key)}</Prefix></CommonPrefixes>")
            else:
                changed = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(known.changed))
                parts = f"<Key>{escape(key)}</Key><LastModified>{changed}</LastModified><ETag>{escape(tag(known.body))}</ETag><Size>{len(known.body)}</Size>"
                text.append(f"<Contents>{parts}</Contents>")
        if len(keys) > PAGE:
            text.append(f"<NextContinuationToken>{escape(shown[-1])}</NextContinuationToken>")
        self.answer(200, "".join([*text, "</ListBucketResult>"]).encode(), Content_Type="application/xml")


def tag(body):
    """The entity tag of a body."""
    return f'"{hashlib.md5(body).hexdigest()}"'
