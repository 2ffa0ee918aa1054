"""A network that can be cut: every process has a network namespace of its own, and a hub between them forwards packets, or swallows
those between two of them. Needs root (ip netns, veth); permitted() says whether this machine lets us."""
import itertools
import os
import subprocess

_numbers = itertools.count()


def _ip(*args, check=True):
    done = subprocess.run(["ip", *args], capture_output=True, text=True, timeout=20)
    if check and done.returncode != 0:
        raise OSError(f"ip {' '.join(args)}: {done.stderr.strip()}")
    return done


def permitted():
    """"" when namespaces can be made here, else why not."""
    name = f"hrp{os.getpid()}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return ""


class Network:
    """Hosts by name, each with an address. Everything is taken down by close()."""

    def __init__(self):
        self._tag = f"hr{os.getpid()}-{next(_numbers)}-"
        self._hub = f"{self._tag}h"
        self._hosts = {}
        self._cuts = set()
        _ip("netns", "add", self._hub)
        try:
            _ip("-n", self._hub, "link", "set", "lo", "up")
            subprocess.run(["ip", "netns", "exec", self._hub, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"], check=True, timeout=20)
        except BaseException:
            self.close()
            raise

    def add(self, name):
        """A host; the arguments in front of a command that runs on it."""
        number = len(self._hosts) + 1
        namespace, link = f"{self._tag}{number}", f"v{number}"
        _ip("netns", "add", namespace)
        self._hosts[name] = (namespace, f"10.77.{number}.2")
        _ip("-n", self._hub, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _ip("-n", self._hub, "addr", "add", f"10.77.{number}.1/30", "dev", link)
        _ip("-n", self._hub, "link", "set", link, "up")
        _ip("-n", namespace, "addr", "add", f"10.77.{number}.2/30", "dev", "eth0")
        _ip("-n", namespace, "link", "set", "eth0", "up")
        _ip("-n", namespace, "link", "set", "lo", "up")
        _ip("-n", namespace, "route", "add", "default", "via", f"10.77.{number}.1")
        return self.prefix(name)

    def prefix(self, name):
        return ("ip", "netns", "exec", self._hosts[name][0])

    def address(self, name):
        return self._hosts[name][1]

    def cut(self, a, b):
        """Packets between two hosts are swallowed, both ways, without a word."""
        pair = frozenset((a, b))
        if pair not in self._cuts:
            self._cuts.add(pair)
            self._rule("add", a, b)

    def heal(self, a, b):
        pair = frozenset((a, b))
        if pair in self._cuts:
            self._cuts.discard(pair)
            self._rule("del", a, b)

    def heal_all(self):
        for pair in list(self._cuts):
            self.heal(*pair)

    def _rule(self, verb, a, b):
        for x, y in ((a, b), (b, a)):
            _ip("-n", self._hub, "rule", verb, "from", self.address(x), "to", self.address(y), "blackhole")

    def reset(self, a, b):
        """The connections that `a` has with `b` are closed on a's side at once, in mid-frame perhaps. False where the kernel cannot."""
        done = subprocess.run([*self.prefix(a), "ss", "-K", "dst", self.address(b)], capture_output=True, text=True, timeout=20)
        return done.returncode == 0 and len(done.stdout.splitlines()) > 1

    def close(self):
        for namespace in [host[0] for host in self._hosts.values()] + [self._hub]:
            _ip("netns", "del", namespace, check=False)
        self._hosts.clear()
