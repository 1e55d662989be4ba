# SPDX-License-Identifier: BSD-3-Clause
"""Attacks by a process outside of a job on the ports of the job; run inside a node's namespace.

  attack.py KIND SEED ADDRESS... -- PORT...     KIND: garbage, outsider, half-open, replay
  attack.py record FILE                         writes down what callers say first, until killed

It ends when it has tried; half-open connections stay for a second. Whether anybody answers does not
matter here: the job is looked at elsewhere.
"""
import contextlib
import os
import random
import socket
import struct
import sys
import time

TRIES = 12
RECORDED = 4096  # bytes of each connection


def connections(dice, addresses, ports):
    """Some of the ports, at some of the addresses."""
    for _ in range(TRIES):
        caller = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        caller.settimeout(0.3)
        try:
            caller.connect((dice.choice(addresses), int(dice.choice(ports))))
        except OSError:
            caller.close()
            continue
        yield caller


def heard(caller):
    with contextlib.suppress(OSError):
        return caller.recv(4096)
    return b""


def garbage(dice, addresses, ports):
    for caller in connections(dice, addresses, ports):
        with caller, contextlib.suppress(OSError):
            caller.sendall(dice.randbytes(dice.choice((1, 7, 40, 200, 5000))))
            if dice.random() < 0.5:
                heard(caller)


def outsider(dice, addresses, ports):
    """Sends back what it received, with a few bits changed."""
    for caller in connections(dice, addresses, ports):
        with caller, contextlib.suppress(OSError):
            message = bytearray(heard(caller) or first_words(dice))
            for _ in range(dice.randrange(4)):
                message[dice.randrange(len(message))] ^= 1 << dice.randrange(8)
            caller.sendall(message)
            heard(caller)
            caller.sendall(message)


def half_open(dice, addresses, ports):
    kept = []
    for caller in connections(dice, addresses, ports):
        with contextlib.suppress(OSError):
            caller.sendall(first_words(dice)[:dice.randrange(40)])
        kept.append(caller)
    time.sleep(1)
    for caller in kept:
        if dice.random() < 0.5:  # some are reset, some closed
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        caller.close()


def replay(dice, addresses, ports):
    """Replays the bytes that a rank of this job sent."""
    words = recordings()
    for caller in connections(dice, addresses, ports):
        with caller, contextlib.suppress(OSError):
            said = dice.choice(words) if words else first_words(dice)
            at = dice.choice((len(said), min(len(said), 64), dice.randrange(len(said) + 1)))
            caller.sendall(said[:at])
            heard(caller)
            caller.sendall(said[at:])


def first_words(dice):
    words = recordings()
    return dice.choice(words) if words else dice.randbytes(64)


def recordings():
    name = os.environ.get("TORUSMP_FAULT_RECORDING", "")
    with contextlib.suppress(OSError):
        with open(name, "rb") as file:
            return [bytes.fromhex(line) for line in file.read().decode().split() if line]
    return []


# ---- recording ----


def record(name):
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
    print("listening", flush=True)
    flows = {}
    while True:
        packet = tap.recv(65536)
        flow, sequence, flags, payload = parse(packet)
        if flow is None:
            continue
        if flags & 2:  # SYN: a new connection
            flows[flow] = [sequence + 1, b""]
        if payload and flow in flows and sequence == flows[flow][0] % 2**32:
            flows[flow][0] += len(payload)
            if len(flows[flow][1]) < RECORDED:
                flows[flow][1] += payload
                save(name, flows)


def save(name, flows):
    with open(name + ".new", "w") as file:
        for _, said in flows.values():
            if said:
                file.write(said[:RECORDED].hex() + "\n")
    os.replace(name + ".new", name)


def parse(packet):
    """(flow, sequence, flags, payload) of an IPv4 TCP packet; four times None for others."""
    if len(packet) < 54 or packet[12:14] != b"\x08\x00" or packet[23] != 6:
        return None, None, None, None
    header = (packet[14] & 15) * 4
    tcp = 14 + header
    total = struct.unpack("!H", packet[16:18])[0]
    sequence = struct.unpack("!I", packet[tcp + 4:tcp + 8])[0]
    data = tcp + (packet[tcp + 12] >> 4) * 4
    return packet[26:34] + packet[tcp:tcp + 4], sequence, packet[tcp + 13], packet[data:14 + total]


def main():
    if sys.argv[1] == "record":
        return record(sys.argv[2])
    kind, seed, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    at = words.index("--")
    act = {"garbage": garbage, "outsider": outsider, "half-open": half_open, "replay": replay}[kind]
    act(random.Random(seed), words[:at], words[at + 1:])


main()
