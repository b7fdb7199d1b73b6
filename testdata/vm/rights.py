"""What an old Landlock can't refuse, tried from inside a session.

Outside, it plants targets (a file given to the session for reading, a file
that is not, listeners, a process), starts itself in a session, and then looks
at the targets: the words from inside are not enough. Each attempt has a
control beside it, the same call on something of the session's own."""
import ctypes
import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import termios

libc = ctypes.CDLL(None, use_errno=True)
bad = 0


def tell(ok, text):
    global bad
    bad += not ok
    print("ok  " if ok else "BAD ", text, flush=True)


def attempt(since, what, want, call, *args):
    """want: names of errnos, or "done"."""
    try:
        got = call(*args)
        got = "done" if got is None or got >= 0 else errno.errorcode[ctypes.get_errno()]
    except OSError as e:
        got = errno.errorcode[e.errno]
    tell(got in want.split(), f"ABI {since}: {what}: {got}, want {want}")


def inside(home, victim, port):
    given, other = home + "/given/file", home + "/other"
    with open("own", "w") as f:
        f.write("text")
    read_only = "EROFS EACCES"
    for path in ("own", "/tmp/own"):
        open(path, "w").close()
        attempt(3, f"control: truncate {path}", "done", os.truncate, path, 0)
    attempt(3, "truncate a file given for reading", read_only, os.truncate, given, 0)
    attempt(3, "open it with O_TRUNC", read_only, os.open, given, os.O_RDONLY | os.O_TRUNC)
    attempt(3, "truncate a file of the host's", "ENOENT", os.truncate, other, 0)
    for path in ("/etc/passwd", "/usr/bin/true", "/proc/sys/kernel/core_pattern", "/proc/sys/user/max_user_namespaces"):
        attempt(3, f"truncate {path}", read_only + " EPERM", os.truncate, path, 0)
    attempt("-", "chmod the given file", "EROFS EPERM", os.chmod, given, 0o777)
    attempt("-", "set its times", "EROFS EPERM", os.utime, given, (1, 1))
    attempt("-", "set an attribute of it", "EROFS EPERM", os.setxattr, given, "user.x", b"x")
    attempt("-", "control: chmod an own file", "done", os.chmod, "own", 0o700)

    server = socket.create_server(("127.0.0.1", 0))
    attempt(4, "control: TCP to a listener of the session's", "done", socket.socket().connect, server.getsockname())
    attempt(4, "TCP to a listener on the host's loopback", "ECONNREFUSED", socket.socket().connect, ("127.0.0.1", port))

    extra = set(os.listdir("/dev")) - set("null zero full random urandom tty ptmx pts shm fd stdin stdout stderr console".split())
    tell(not extra, f"ABI 5: devices beside the usual: {sorted(extra)}")
    for name in ("vda", "mem", "kmsg", "ttyS0", "console", "fuse", "net/tun", "loop-control", "kvm", "hpet"):
        attempt(5, f"open /dev/{name}", "ENOENT", os.open, "/dev/" + name, os.O_RDONLY | os.O_NOCTTY)
    random = os.open("/dev/urandom", os.O_RDWR)
    attempt(5, "ioctl on /dev/urandom that adds to the pool", "EPERM", libc.ioctl, random, 0x40045201, ctypes.byref(ctypes.c_int(8)))
    master, tty = os.openpty()
    attempt(5, "control: ioctl on an own terminal", "done", lambda: fcntl.ioctl(tty, termios.TIOCGWINSZ, b"........") and None)
    attempt(5, "ioctl that types into it", "EPERM", lambda: fcntl.ioctl(tty, termios.TIOCSTI, b"x") and None)

    def unix(name):
        return socket.socket(socket.AF_UNIX).connect(name)

    for name in ("\0own", "/tmp/own.sock"):
        own = socket.socket(socket.AF_UNIX)
        own.bind(name)
        own.listen()
        attempt(6 if name[0] == "\0" else 9, f"control: unix socket {name!r} of the session's", "done", unix, name)
    attempt(6, "abstract unix socket of the host's", "ECONNREFUSED", unix, "\0walls-old")
    attempt(9, "pathname unix socket of the host's", "ENOENT", unix, home + "/old.sock")

    child = subprocess.Popen(["sleep", "600"])
    attempt(6, "control: signal to an own process", "done", os.kill, child.pid, signal.SIGKILL)
    child.wait()
    attempt(6, "signal to a process of the host's", "ESRCH", os.kill, victim, 0)
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGSTOP, signal.SIGKILL):
        # Without Landlock's scope the kernel takes it, and PID 1 does not heed it.
        attempt(6, f"{sig.name} to PID 1", "EPERM done", os.kill, 1, sig)
    attempt(6, "control: the session goes on", "done", lambda: subprocess.run(["true"], check=True) and None)
    for name in ("environ", "mem", "root", "cwd", "fd/0", "maps"):
        attempt("-", f"open /proc/1/{name}", "EACCES ENOENT EPERM", os.open, f"/proc/1/{name}", os.O_RDONLY)
    os.unlink("own")  # nothing to review is left
    sys.exit(bad > 0)


def outside():
    home = os.path.expanduser("~")
    os.makedirs(home + "/given", exist_ok=True)
    targets = [home + "/given/file", home + "/other"]
    for path in targets:
        with open(path, "w") as f:
            f.write("as it was")
    with open(home + "/old.toml", "w") as f:
        f.write('tool = "a"\n[filesystem]\ninputs = ["~/given"]\n')
    before = [state(path) for path in targets]
    listeners = [socket.create_server(("127.0.0.1", 0))]
    for name in ("\0walls-old", home + "/old.sock"):
        if os.path.lexists(name) if name[0] != "\0" else False:
            os.unlink(name)
        s = socket.socket(socket.AF_UNIX)
        s.bind(name)
        s.listen()
        listeners.append(s)
    port = listeners[0].getsockname()[1]
    victim = subprocess.Popen(["sleep", "600"])
    with open(__file__) as f, open("rights.py", "w") as copy:
        copy.write(f.read())
    try:
        run = subprocess.run(["fumehood", "run", "--rm", "--policy", home + "/old.toml", "--", "python3", "rights.py", "inside", home, str(victim.pid), str(port)], check=False)
        tell(run.returncode == 0, f"status {run.returncode}, want 0")
        tell(victim.poll() is None, "the host's process lives")
    finally:
        victim.kill()
        os.unlink("rights.py")
    tell([state(path) for path in targets] == before, "the host's files are as they were")
    for s in listeners:
        s.setblocking(False)
        try:
            s.accept()
            tell(False, f"a connection arrived at {s.getsockname()!r}")
        except BlockingIOError:
            tell(True, f"nothing arrived at {s.getsockname()!r}")
    sys.exit(bad > 0)


def state(path):
    st = os.stat(path)
    with open(path) as f:
        return f.read(), st.st_mode, st.st_mtime_ns, st.st_ctime_ns, os.listxattr(path)


if sys.argv[1] == "outside":
    outside()
inside(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
