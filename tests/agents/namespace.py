"""A client in a network namespace of its own: loopback and nothing else, with the scripted model listening there.

The process that becomes the client opens the listening socket inside the namespace and hands it out; the test's own
process answers on it from outside. So the address is the same in every run, and nothing can leave the machine.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys

PORT = 8123  # free: the namespace is new
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1


def unshare() -> list[str]:
    """The command that gives what follows it a namespace; without root, in a user namespace."""
    return ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]


def command(channel: int, *words: str) -> list[str]:
    """The command line that starts `words` in a namespace and sends the listening socket over `channel`."""
    return [*unshare(), sys.executable, "-I", "-S", os.path.abspath(__file__), str(channel), *words]


def _bring_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def _become(channel: int, words: list[str]) -> None:
    _bring_loopback_up()
    with socket.socket(fileno=channel) as out, socket.create_server(("127.0.0.1", PORT), backlog=64) as listening:
        socket.send_fds(out, [b"."], [listening.fileno()])
    os.execv(words[0], words)


if __name__ == "__main__":
    _become(int(sys.argv[1]), sys.argv[2:])
