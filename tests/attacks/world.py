"""What attacks are aimed at: answers, another student, processes, sockets and files of a grader's."""

import json
import os
import secrets
import select
import socket
import stat
import subprocess
from pathlib import Path


class World:
    """Stands for the machine of a TA. `damage` tells what has happened to it since it was last asked."""

    def __init__(self, folder, project):
        self.folder = folder
        # No mark is ever whole in what an attack is told: finding one whole is finding a secret.
        names = ("answers", "other", "previous", "token", "spec")
        self.marks = {name: (secrets.token_hex(8), secrets.token_hex(8)) for name in names}
        os.environ["LABGRADE_TOKEN"] = "".join(self.marks["token"])
        self.answers = self._file("secret/answers.txt", "".join(self.marks["answers"]))
        self.other = self._file("class/other/hw.py", "# " + "".join(self.marks["other"])).parent
        self.file = self._file("outside/kept.txt", "kept")
        self.file.chmod(0o666)
        self.file.parent.chmod(0o777)
        self.project = project
        self.daemon = f"11{secrets.randbelow(10**6):06}"
        self._listen()
        self._revive()
        self._before = self._state()

    def _file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def _listen(self):
        self.sockets = {
            "tcp": socket.create_server(("127.0.0.1", 0)),
            "udp": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            "path_socket": socket.socket(socket.AF_UNIX),
            "abstract_socket": socket.socket(socket.AF_UNIX),
        }
        self.sockets["udp"].bind(("127.0.0.1", 0))
        self.sockets["path_socket"].bind(str(self.folder / "socket"))
        (self.folder / "socket").chmod(0o777)
        self.abstract = "labgrade-" + secrets.token_hex(4)
        self.sockets["abstract_socket"].bind("\0" + self.abstract)
        for name in ("path_socket", "abstract_socket"):
            self.sockets[name].listen()

    def _revive(self):
        self.victim = subprocess.Popen(["sleep", "900"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def told(self):
        """What an attack knows beforehand: everything but the secrets themselves."""
        return {
            "answers": str(self.answers),
            "other": str(self.other),
            "file": str(self.file),
            "folder": str(self.file.parent),
            "project": str(self.project),
            "victim": self.victim.pid,
            "tcp": self.sockets["tcp"].getsockname()[1],
            "udp": self.sockets["udp"].getsockname()[1],
            "path_socket": str(self.folder / "socket"),
            "abstract_socket": self.abstract,
            "marks": list(self.marks.values()),
            "daemon": self.daemon,
        }

    def damage(self, said):
        """What an attack did that nobody may do. Puts the world right again."""
        found = [f"it knows the mark '{name}'" for name, halves in self.marks.items() if "".join(halves) in said]
        readable = select.select(list(self.sockets.values()), [], [], 0)[0]
        for name, listener in self.sockets.items():
            if listener in readable:
                found.append(f"it reached {name}")
                self._drain(name, listener)
        after = self._state()
        found += [f"{key}: {self._before[key]} became {after[key]}" for key in after if after[key] != self._before[key]]
        if after != self._before:
            self._mend()
        if (
            subprocess.run(["pgrep", "-f", f"sleep {self.daemon}"], check=False, stdout=subprocess.DEVNULL).returncode
            == 0
        ):
            found.append("it left a daemon")
        return found

    def _drain(self, name, listener):
        if name == "udp":
            listener.recv(100)
        else:
            listener.accept()[0].close()

    def _state(self):
        pid = self.victim.pid
        alive = self.victim.poll() is None
        kept = {path.name: _described(path) for path in sorted(self.file.parent.iterdir())}
        return {
            "files": kept,
            "victim": alive and [os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)],
            "cores": alive and sorted(os.sched_getaffinity(pid)),
            "limits": alive
            and [line for line in Path(f"/proc/{pid}/limits").read_text().splitlines() if "files" in line],
        }

    def _mend(self):
        self.victim.kill()
        self.victim.wait()
        self._revive()
        for path in self.file.parent.iterdir():
            path.unlink()
        self._file("outside/kept.txt", "kept").chmod(0o666)
        self._before = self._state()

    def close(self):
        """End what stands for the grader."""
        self.victim.kill()
        self.victim.wait()
        for listener in self.sockets.values():
            listener.close()


def _described(path):
    found = path.lstat()
    return [stat.filemode(found.st_mode), found.st_size, found.st_mtime_ns, os.listxattr(path, follow_symlinks=False)]


def plant(kind, folder, world):
    """What a hand-in may hold beside its code."""
    if kind == "symlink":
        (folder / "planted.txt").symlink_to(world.answers)
    elif kind == "hardlink":
        (folder / "planted.txt").hardlink_to(world.answers)
    (folder / "world.json").write_text(json.dumps(world.told()))
