#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An agent for testbeds in which only the torus joins the hosts, without an sshd.

  link_agent.py serve            on each host: starts the programs that others ask for
  link_agent.py ADDRESS CMD...   starts CMD on the host that has this address on one of its links

It goes over the cable that the address names, and is silent when that cable dies.
"""
import json
import os
import socket
import subprocess
import sys
import threading

PORT = 7999


def receive_line(connection):
    line = b""
    while not line.endswith(b"\n"):
        piece = connection.recv(1)
        if not piece:
            return None
        line += piece
    return json.loads(line)


def start(connection):
    with connection:
        words = receive_line(connection)
        # What it reports as an error is shown with the test.
        program = words and subprocess.Popen(words, stdin=connection, stdout=connection, start_new_session=True)
    if program:
        program.wait()


def serve():
    server = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("::", PORT))
    server.listen(50)
    print("listening", flush=True)
    while True:
        connection, _ = server.accept()
        threading.Thread(target=start, args=(connection,), daemon=True).start()


def call(address, words):
    connection = socket.create_connection((address, PORT))
    connection.sendall(json.dumps(words).encode() + b"\n")

    def pass_input():
        while piece := os.read(0, 65536):
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)

    threading.Thread(target=pass_input, daemon=True).start()
    while piece := connection.recv(65536):
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(1, rest):]
    os._exit(0)


if __name__ == "__main__":
    serve() if sys.argv[1] == "serve" else call(sys.argv[1], sys.argv[2:])
