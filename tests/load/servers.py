#!/usr/bin/env python3
"""Servers between evenkeel and a filled API server, for the load test.

    servers.py proxy KUBECONFIG PORT [REFUSED%]    serves plain HTTP, and writes KUBECONFIG.proxy for it
    servers.py prometheus PORT NODES PODS          has usage of every node and pod that fill.py writes

The proxy answers this share of the requests with 429 and a Retry-After of a second, as priority and fairness does under
load. After SIGUSR1 it ends every watch and answers the next one of each kind with 410, so that everything is listed again.
"""

import http.client
import json
import random
import re
import signal
import socket
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fill

CHUNK = 1 << 16


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, body, **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Proxy(Handler):
    refused = 0.0
    upstream = None
    lock = threading.Lock()
    watches = set()
    # The kinds whose next watch is answered with 410, and those that have been watched.
    gone, watched = set(), set()

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if random.random() < Proxy.refused:
            return self.answer(429, b"Too many requests, please try again later.\n", Retry_After="1")
        path, watch = self.path.split("?")[0], "watch=true" in self.path
        if watch:
            with Proxy.lock:
                Proxy.watched.add(path)
                is_gone = path in Proxy.gone
                Proxy.gone.discard(path)
            if is_gone:
                status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired",
                          "message": "too old resource version", "code": 410}
                return self.answer(410, json.dumps(status).encode(), Content_Type="application/json")
        connection = http.client.HTTPSConnection(Proxy.upstream.host, context=Proxy.upstream.tls)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        connection.request(self.command, self.path, body, headers)
        if watch:
            with Proxy.lock:
                Proxy.watches.add(connection.sock)
        self.copy(connection)

    def copy(self, connection):
        held = connection.sock
        try:
            response = connection.getresponse()
            self.send_response(response.status)
            for name, value in response.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while part := response.read1(CHUNK):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except (OSError, http.client.HTTPException):
            self.close_connection = True
        finally:
            with Proxy.lock:
                Proxy.watches.discard(held)
            connection.close()

    do_GET = do_POST = do_PUT = do_PATCH = forward


def relist(*_):
    with Proxy.lock:
        Proxy.gone |= Proxy.watched
        open_watches = list(Proxy.watches)
    for held in open_watches:
        try:
            held.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def proxy(kubeconfig, port, percent="0"):
    Proxy.upstream, Proxy.refused = fill.Server(kubeconfig), float(percent) / 100
    text = open(kubeconfig).read()
    text = re.sub(r'server: "?[^"\s,}]+"?', f"server: http://127.0.0.1:{port}", text)
    text = re.sub(r'certificate-authority-data: "?[^"\s,}]+"?,?', "", text)
    with open(kubeconfig + ".proxy", "w") as file:
        file.write(text)
    signal.signal(signal.SIGUSR1, relist)
    serve(port, Proxy)


class Prometheus(Handler):
    nodes = pods = 0

    def query(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        parameters = urllib.parse.parse_qs(body or urllib.parse.urlparse(self.path).query)
        field = lambda name: float(parameters[name][0])
        times = [time.time()]
        if self.path.startswith("/api/v1/query_range"):
            times = [field("start")]
            while times[-1] + field("step") <= field("end"):
                times.append(times[-1] + field("step"))
            kind = "matrix"
        else:
            times = [field("time")] if "time" in parameters else times
            kind = "vector"
        result = self.series(parameters["query"][0], times, kind)
        if result is None:
            kind, result = "scalar", f'[{times[0]}, "{times[0]}"]'
        text = f'{{"status":"success","data":{{"resultType":"{kind}","result":{result}}}}}'
        self.answer(200, text.encode(), Content_Type="application/json")

    def series(self, query, times, kind):
        amount = "0.15" if "cpu" in query else "200000000"
        if kind == "matrix":
            value = '"values":[' + ",".join(f'[{at},"{amount}"]' for at in times) + "]"
        else:
            value = f'"value":[{times[0]},"{amount}"]'
        if "node_" in query:
            metrics = (f'"node":"n{i}"' for i in range(Prometheus.nodes))
        elif "pod_" in query:
            metrics = (self.pod(i) for i in range(Prometheus.pods))
        else:
            return None
        return "[" + ",".join(f'{{"metric":{{{metric}}},{value}}}' for metric in metrics) + "]"

    def pod(self, i):
        r = i // fill.PODS_PER_SET
        node = fill.node_of(i, Prometheus.nodes)
        return f'"namespace":"{fill.namespace_of(r)}","pod":"{fill.name_of(i, 0)}","node":"{node}"'

    do_GET = do_POST = query


def prometheus(port, nodes, pods):
    Prometheus.nodes, Prometheus.pods = int(nodes), int(pods)
    serve(port, Prometheus)


def serve(port, handler):
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), handler)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    {"proxy": proxy, "prometheus": prometheus}[sys.argv[1]](*sys.argv[2:])
