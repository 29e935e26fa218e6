#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes office.pcap: half a minute of a small office's traffic, as a tap at its gateway sees it.

    make_capture.py OUTPUT        prints its traffic, so that a reader of the file can be checked

Nobody's traffic was recorded for it. Web transfers, terminal sessions, telemetry, a call, a game
and name look-ups run side by side, each with its own round trip. A segment may be lost before the
tap (it is seen late, sent again), behind the tap (it is seen twice), overtake others, or be missed
by the tap (never seen, though it arrived): the office has a poor wireless link. The same file comes
out on every machine: only random.Random.random() is used, whose sequence Python promises to keep.
"""

import random
import struct
import sys

DURATION = 30_000_000  # microseconds
EPOCH = 1_700_000_000  # seconds: when the capture began
MSS = 1448
SYN, FIN, RST, PSH, ACK = 0x02, 0x01, 0x04, 0x08, 0x10
TCP, UDP, ICMP = 6, 17, 1

LOST_BEFORE, LOST_BEHIND, OVERTAKEN, MISSED = 0.040, 0.030, 0.060, 0.010

rng = random.Random(2012)
frames = []  # (time, sequence number of the frame, bytes)
sent = {"tcp flows": 0, "tcp bytes": 0, "tcp bytes missed": 0, "udp flows": 0, "udp bytes": 0}


def between(low, high):
    return low + int(rng.random() * (high - low + 1))


def chance(probability):
    return rng.random() < probability


# ---- payload: text, so that `tcpdump -A` shows something ----------------------------------------

WORDS = (
    "pool block slot stride chunk region free list fresh peak limit budget reserve trim clear "
    "guard level site handle stale retired parent child root magazine depot heap class egg box "
    "hen nest"
).split()


def text(count):
    out = ""
    while len(out) < count:
        out += WORDS[between(0, len(WORDS) - 1)] + (" " if chance(0.9) else ".\n")
    return out[:count].encode()


# ---- frames -------------------------------------------------------------------------------------


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def mac(address):
    return bytes((2, 0)) + struct.pack("!I", address)


def put(time, frame):
    if time < DURATION:
        frames.append((time, len(frames), frame.ljust(60, b"\0")))  # Ethernet pads to 60 bytes


def put_ip(time, source, target, protocol, body):
    number = len(frames) & 0xFFFF
    head = struct.pack(
        "!BBHHHBBHII", 0x45, 0, 20 + len(body), number, 0x4000, 64, protocol, 0, source, target
    )
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    put(time, mac(target) + mac(source) + b"\x08\x00" + head + body)


def pseudo(source, target, protocol, body):
    return struct.pack("!IIBBH", source, target, 0, protocol, len(body)) + body


def put_udp(time, source, target, ports, data):
    head = struct.pack("!HHHH", *ports, 8 + len(data), 0)
    total = checksum(pseudo(source, target, UDP, head + data)) or 0xFFFF
    put_ip(time, source, target, UDP, head[:6] + struct.pack("!H", total) + data)
    sent["udp bytes"] += len(data) if time < DURATION else 0


def put_tcp(time, source, target, ports, seq, ack, flags, data=b""):
    head = struct.pack(
        "!HHIIBBHHHBBHII", *ports, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x80, flags, 64240, 0, 0,
        1, 1, 0x080A, time // 1000, 0,
    )  # fmt: skip
    total = checksum(pseudo(source, target, TCP, head + data))
    put_ip(time, source, target, TCP, head[:16] + struct.pack("!H", total) + head[18:] + data)


# ---- a TCP connection ---------------------------------------------------------------------------


class Connection:
    """Both ends of a connection, and the clock of their steps."""

    def __init__(self, time, client, server, port):
        self.time = time
        self.round_trip = between(4_000, 60_000)
        self.hosts = (client, server)
        self.ports = (between(32768, 60999), port)
        self.next = [between(0, 0xFFFFFFFF), between(0, 0xFFFFFFFF)]
        sent["tcp flows"] += 1
        self.control(0, SYN)
        self.time += self.round_trip
        self.control(1, SYN | ACK)
        self.time += 200
        self.control(0, ACK)

    def put(self, time, side, seq, flags, data=b""):
        hosts, ports = self.hosts[:: -1 if side else 1], self.ports[:: -1 if side else 1]
        put_tcp(time, *hosts, ports, seq, self.next[1 - side] if flags != SYN else 0, flags, data)

    def control(self, side, flags):
        self.put(self.time, side, self.next[side], flags)
        self.next[side] += 1 if flags & (SYN | FIN) else 0

    def segment(self, side, flags, data):
        """One segment, and what the network makes of it."""
        seq, again = self.next[side], self.time + self.round_trip + between(1_000, 200_000)
        self.next[side] += len(data)
        if self.time < DURATION:
            sent["tcp bytes"] += len(data)
        if chance(MISSED):
            sent["tcp bytes missed"] += len(data)
        elif chance(LOST_BEFORE):
            self.put(again, side, seq, flags, data)
        elif chance(OVERTAKEN):
            self.put(self.time + between(500, 6_000), side, seq, flags, data)
        else:
            self.put(self.time, side, seq, flags, data)
            if chance(LOST_BEHIND):
                self.put(again, side, seq, flags, data)

    def write(self, side, count):
        """One write of the application: full segments, the last pushed, every other confirmed."""
        data = text(count)
        for index, start in enumerate(range(0, count, MSS)):
            part = data[start : start + MSS]
            last = start + MSS >= count
            self.segment(side, ACK | (PSH if last else 0), part)
            self.time += between(120, 900)
            if last or index % 2:
                self.put(self.time + self.round_trip // 2, 1 - side, self.next[1 - side], ACK)
        self.time += self.round_trip

    def close(self):
        self.time += 200_000  # after the last byte sent again
        self.control(0, FIN | ACK)
        self.time += self.round_trip
        self.control(1, FIN | ACK)
        self.time += 300
        self.control(0, ACK)

    def reset(self):
        self.time += 200_000
        self.control(0, RST | ACK)


# ---- what people and machines do ----------------------------------------------------------------

CLIENTS = [0x0A000010 + n for n in range(12)]
RESOLVER = 0x0A000001


def server():
    return 0xC6336400 + between(1, 250)  # 198.51.100.0/24: addresses set aside for examples


def client():
    return CLIENTS[between(0, len(CLIENTS) - 1)]


def look_up(time, asker):
    port = between(1024, 65535)
    sent["udp flows"] += 1
    put_udp(time, asker, RESOLVER, (port, 53), text(between(28, 48)))
    time += between(300, 25_000)
    put_udp(time, RESOLVER, asker, (53, port), text(between(44, 180)))
    return time


def web(time):
    who = client()
    line = Connection(look_up(time, who) + 500, who, server(), 80)
    for _ in range(between(1, 2)):
        line.write(0, between(180, 420))
        line.write(1, between(120, 1400) if chance(0.72) else between(2000, 7000))
        line.time += between(50_000, 900_000)
    if chance(0.85):
        line.close()
    elif chance(0.5):
        line.reset()


def telemetry(time):
    line = Connection(time, client(), server(), 1883)
    while line.time < DURATION:
        line.write(0, between(24, 90))
        line.time += between(700_000, 2_500_000)


def terminal(time):
    line = Connection(time, client(), server(), 22)
    for _ in range(between(6, 18)):
        line.write(0, between(36, 52))
        line.write(1, between(36, 52) if chance(0.8) else between(200, 900))
        line.time += between(60_000, 1_200_000)
    if chance(0.6):
        line.close()


def call(time):
    who, other = client(), server()
    ports = (between(8000, 9999) & ~1, between(8000, 9999) & ~1)
    sent["udp flows"] += 1
    for tick in range(between(50, 75)):
        put_udp(time + tick * 20_000 + between(0, 900), who, other, ports, text(32))
        put_udp(time + tick * 20_000 + between(0, 9_000), other, who, ports[::-1], text(32))


def game(time):
    who, other, port = client(), server(), between(20000, 60000)
    sent["udp flows"] += 1
    for _ in range(between(30, 50)):
        time += between(30_000, 70_000)
        put_udp(time, who, other, (port, 27015), text(between(20, 60)))
        put_udp(time + between(8_000, 30_000), other, who, (27015, port), text(between(40, 160)))


def clock_and_neighbours(time):
    who = client()
    sent["udp flows"] += 1
    put_udp(time, who, server(), (123, 123), text(48))
    put(time + 5_000, mac(RESOLVER) + mac(who) + b"\x08\x06" + struct.pack(
        "!HHBBHHIIHII", 1, 0x0800, 6, 4, 1, 0x0200, who, who, 0, 0, RESOLVER))  # fmt: skip
    echo = struct.pack("!BBHHH", 8, 0, 0, 7, 1) + text(32)
    echo = echo[:2] + struct.pack("!H", checksum(echo)) + echo[4:]
    put_ip(time + 9_000, who, server(), ICMP, echo)


def write_file(path):
    frames.sort()
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for time, _, frame in frames:
            seconds, microseconds = EPOCH + time // 1_000_000, time % 1_000_000
            file.write(struct.pack("<IIII", seconds, microseconds, len(frame), len(frame)))
            file.write(frame)


def main():
    for make, count in ((web, 30), (telemetry, 5), (terminal, 5), (call, 1), (game, 1),
                        (look_up_alone, 14), (clock_and_neighbours, 4)):
        for _ in range(count):
            make(between(0, DURATION - 4_000_000))
    write_file(sys.argv[1])
    print(f"{len(frames)} frames")
    for name, count in sent.items():
        print(f"{count} {name}")


def look_up_alone(time):
    look_up(time, client())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
