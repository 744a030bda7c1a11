"""Programs that start in milliseconds: forks of a process that has imported what clew needs.

They have arguments, an environment, a folder, streams, signals and an end of their own, like any
other; alone, each would import for two seconds.
"""

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

#: Forks for each program that is asked for, and runs it in the fork as Python's `-m` or `-c` would.
FORKS = """
import gc, json, os, runpy, signal, socket, sys
import clew.cluster, clew.session, clew.store._sql_store

gc.freeze()  # else garbage collection in each fork copies all memory
ours = socket.socket(fileno=int(sys.argv[1]))
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    message, streams, *_ = socket.recv_fds(ours, 1 << 20, 2)
    if not message:
        os._exit(0)
    asked = json.loads(message)
    if "end_of" in asked:
        ended, status = os.waitpid(asked["end_of"], asked["options"])
        ours.send(json.dumps(os.waitstatus_to_exitcode(status) if ended else None).encode())
    elif (process := os.fork()) == 0:
        break
    else:
        ours.send(json.dumps(process).encode())
        for stream in streams:
            os.close(stream)
ours.close()
signal.signal(signal.SIGINT, signal.default_int_handler)
for number, stream in enumerate(streams, 1):
    os.dup2(stream, number)
    os.close(stream)
os.chdir(asked["folder"])
os.environ.clear()
os.environ.update(asked["environment"])
sys.argv[:] = asked["arguments"]
if asked["code"]:
    exec(asked["code"], {"__name__": "__main__"})
else:
    runpy.run_module("clew.cli", run_name="__main__", alter_sys=True)
"""

#: Code that takes from root's process what lets it write, and read, all files.
AS_OTHERS = """
import ctypes, os
if os.geteuid() == 0:
    libc, head, sets = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522), (ctypes.c_uint32 * 6)()
    assert libc.capget(head, sets) == 0
    sets[:3] = [each & ~0b110 for each in sets[:3]]  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert libc.capset(head, sets) == 0
"""


@cache
def _forks() -> socket.socket:
    """Start the process that forks; it ends when this process does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    number = theirs.fileno()
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, "-c", FORKS, str(number)], pass_fds=[number],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )  # fmt: skip
    atexit.register(lambda: (ours.close(), process.wait()))
    theirs.close()
    ours.settimeout(240)
    return ours


class Program:
    """The command `clew`, or Python code, as a process of its own."""

    def __init__(self, *arguments: object, stdout: int, stderr: int = 2, code: str = "") -> None:
        asked = {
            "arguments": ["clew", *map(str, arguments)], "code": code,
            "folder": os.getcwd(), "environment": os.environ | {"COLUMNS": "100"},
        }  # fmt: skip
        socket.send_fds(_forks(), [json.dumps(asked).encode()], [stdout, stderr])
        self.pid: int = json.loads(_forks().recv(99))
        self._status: int | None = None

    def poll(self, options: int = os.WNOHANG) -> int | None:
        """Return the status, or None while it runs."""
        if self._status is None:
            _forks().send(json.dumps({"end_of": self.pid, "options": options}).encode())
            self._status = json.loads(_forks().recv(99))
        return self._status

    def wait(self) -> int | None:
        """Wait for the end, and return the status."""
        return self.poll(0)


def run_program(
    *arguments: object, code: str = "", stdout: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end; what it prints is kept, unless its output goes elsewhere."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        to = out.fileno() if stdout is None else stdout
        status = Program(*arguments, code=code, stdout=to, stderr=err.fileno()).wait()
        printed = []
        for file in (out, err):
            file.seek(0)
            printed.append(file.read().decode())
    assert status is not None
    return subprocess.CompletedProcess(arguments, status, *printed)
