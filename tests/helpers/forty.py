"""A class of 40 repositories on a server: what each student does before and after the deadline, and what counts.

`CLASS` is the table: who, what they do, which of their commits is right, and why. `before` and `after` push, and return
the commits that they made by the name that the table calls them.
"""

import random
import subprocess
from dataclasses import dataclass, field

from helpers.git_class import ENVIRONMENT, ago, bare, commit, git

FILE = "lab/answers.yaml"
RIGHT, WRONG = "task: {total: 1234}\n", "task: {total: 7}\n"
LIMIT = "6MB"


@dataclass
class Who:
    name: str
    right: str  # the name of the commit that counts; "" where none does
    why: str
    before: object = None
    after: object = None
    state: str = "taken"
    late: int = 0
    staff: tuple = ()
    left_out: tuple = ()
    row: dict = field(default_factory=dict)  # of the roster


def work(repository, hours, text=RIGHT, **more):
    return commit(repository, {FILE: text}, ago(hours=hours), **more)


def on_time(repo):
    work(repo, 9, WRONG)
    return {"mine": work(repo, 3)}


def on_time_and_wrong(repo):
    return {"mine": work(repo, 3, WRONG)}


def goes_on(repo):
    return {"later": work(repo, 0, WRONG)}


def backdated(repo):
    return {"backdated": work(repo, 2)}


def forced(repo):
    first = git("rev-list", "--max-parents=0", "main", at=repo)
    return {"forced": work(repo, 2, WRONG, on=first)}


def unrelated(repo):
    return {"unrelated": work(repo, 2, WRONG, on=None)}


def deleted(repo):
    git("update-ref", "-d", "refs/heads/main", at=repo)
    return {}


def only(branch, **names):
    def push(repo):
        tip = git("rev-parse", "refs/heads/main", at=repo)
        git("update-ref", "-d", "refs/heads/main", at=repo)
        git("symbolic-ref", "HEAD", f"refs/heads/{branch}", at=repo)
        found = work(repo, 3, branch=branch, on=tip)
        for more in names.values():
            work(repo, 4, WRONG, branch=more, on=tip)
        return {"mine": found}

    return push


def tags_only(repo):
    work(repo, 3)
    git("update-ref", "refs/tags/v1", "refs/heads/main", at=repo)
    git("update-ref", "-d", "refs/heads/main", at=repo)
    return {}


def large_files(repo):
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12345678\n"
    files = {FILE: RIGHT, "lab/net.onnx": pointer, "lab/.gitattributes": "*.onnx filter=lfs diff=lfs merge=lfs -text\n"}
    return {"mine": commit(repo, files, ago(hours=3))}


def junk(megabytes):
    def push(repo):
        data = random.Random(megabytes).randbytes(megabytes << 20)  # noqa: S311 - any bytes
        return {"mine": commit(repo, {FILE: RIGHT, "lab/data.bin": data}, ago(hours=3))}

    return push


def tricks(repo):
    """What a repository may hold and must not do: links out, a submodule whose address is an option, filters, cases."""
    files = {
        FILE: RIGHT,
        "lab/passwd": ("120000", "/etc/passwd"),
        "lab/up": ("120000", "../../.."),
        "lab/sub": ("160000", "1" * 40),
        ".gitmodules": '[submodule "lab/sub"]\n\tpath = lab/sub\n\turl = https://127.0.0.1:1/x.git\n',
        "lab/.gitattributes": "* filter=pwned ident\nkept.md export-ignore\nsaid.md export-subst\n",
        "lab/kept.md": "here\n",
        "lab/said.md": "$Format:%an$ $Id$\n",
        "lab/Case.md": "one\n",
        "lab/case.md": "two\n",
    }
    return {"mine": commit(repo, files, ago(hours=3))}


def broken(repo):
    """A tree with a name that git itself refuses: written past git's own checks."""
    blob = git("hash-object", "-w", "--stdin", at=repo, given=b"x")
    tree = b"100644 .git\0" + bytes.fromhex(blob)
    found = git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", at=repo, given=tree)
    text = f"tree {found}\nauthor a <a@b> 1700000000 +0000\ncommitter a <a@b> 1700000000 +0000\n\nx\n".encode()
    made = git("hash-object", "-t", "commit", "-w", "--stdin", at=repo, given=text)
    git("update-ref", "refs/heads/main", made, at=repo)
    return {}


def no_folder(repo):
    return {"mine": commit(repo, {"notes.md": "x"}, ago(hours=3))}


def late_only(repo):
    return {"late": work(repo, 0)}


TWO_DAYS = {"extension lab": "2 days"}
CLASS = [
    *(Who(f"on{n:02}", "mine", "pushed in time, and nothing since", on_time) for n in range(12)),
    Who("on12", "mine", "pushed in time, and wrong", on_time_and_wrong),
    *(Who(f"more{n}", "mine", "went on after the deadline: the last in time counts", on_time, goes_on,
          staff=("1 later commit does not count",)) for n in range(3)),
    *(Who(f"late{n}", "late", "pushed nothing in time: one day late", None, late_only, late=1) for n in range(2)),
    Who("extended", "later", "more time: what was pushed since is in time", on_time, goes_on, row=TWO_DAYS),
    Who("backdated", "mine", "the later commit claims to be in time, and a fetch did not see it", on_time, backdated,
        staff=("was not there in the fetch of", "1 later commit does not count")),
    Who("backonly", "backdated", "nothing else is there, so it counts, as of the fetch that did not see it", None,
        backdated, late=1, staff=("was not there in the fetch of",)),
    Who("forced", "mine", "force-pushed after the deadline: what the fetch saw counts", on_time, forced,
        staff=("rewritten (force-push)", "was not there in the fetch of", "1 later commit does not count")),
    Who("unrelated", "mine", "replaced by another history after the deadline", on_time, unrelated,
        staff=("rewritten (force-push)", "was not there in the fetch of", "1 later commit does not count")),
    Who("deleted", "mine", "the branch is gone: what the fetch saw counts", on_time, deleted,
        staff=("the branch is gone",)),
    Who("empty", "", "nothing was pushed", state="empty"),
    Who("untouched", "", "nothing but the template", state="untouched"),
    Who("closed", "", "nobody let us in", on_time, state="closed"),
    Who("absent", "", "there is no such repository", state="closed"),
    Who("ann", "later", "a group: one repository, and the longest extension of its members", on_time, goes_on,
        row={"group": "A1", "repository": "group"}),
    Who("bob", "", "the other of the group", row={"group": "A1", "repository": "group", **TWO_DAYS}),
    Who("master", "mine", "the only branch is called otherwise", only("master"),
        staff=("there is no branch 'main': its only one, 'master', was taken",)),
    Who("branches", "", "two branches, and none is called so", only("dev", other="try"), state="no branch"),
    Who("tags", "", "only a tag was pushed", tags_only, state="no branch"),
    Who("side", "mine", "another branch has more", lambda repo: on_time(repo) | {"side": work(
        repo, 2, WRONG, branch="side", on="refs/heads/main^0")}, staff=("other branches hold commits",)),
    Who("lfs", "mine", "a file is a pointer of LFS: said, the rest counts", large_files,
        left_out=("net.onnx (a pointer of Git LFS",)),
    Who("junk", "mine", "much data, and the work counts", junk(3)),
    Who("toolarge", "", "more than is fetched", junk(9), state="too large"),
    Who("tricks", "mine", "hostile, and held: the work counts", tricks, left_out=("sub (a submodule",)),
    Who("broken", "", "git refuses its tree", broken, state="damaged"),
    Who("nofolder", "", "the folder of the lab is not there", no_folder, state="no folder"),
]  # fmt: skip
GROUP = {"A1": ("ann", "bob")}


def address_of(who):
    return who.row.get("repository", who.name)


def make(server, url):
    """The template and all repositories as they are before the deadline, and the roster."""
    template = bare(server / "template.git")
    data = random.Random(0).randbytes(2 << 20)  # noqa: S311 - any bytes
    files = {FILE: "# write here\n", "lab/weights.bin": data, "README.md": "do it\n"}
    tip = commit(template, files, ago(days=9), who="Teacher")
    for who in CLASS:
        repo = server / f"{address_of(who)}.git"
        if who.name in ("absent", "bob"):
            continue
        if who.name in ("empty", "broken", "nofolder"):
            bare(repo)
        else:
            git("clone", "--quiet", "--bare", str(template), str(repo))
            git("config", "http.receivepack", "true", at=repo)
            assert git("rev-parse", "main", at=repo) == tip
    made = _all(server, "before")
    heads = ["id", "group", "repository", "extension lab"]
    rows = [",".join(heads)]
    for who in CLASS:
        row = {"id": who.name, **who.row}
        row |= {"repository": f"{url}/{row['repository']}.git"} if "repository" in row else {}
        rows.append(",".join(row.get(head, "") for head in heads))
    return made, "\n".join(rows) + "\n"


def after(server):
    """What everybody does after the deadline."""
    return _all(server, "after")


def _all(server, when):
    made = {}
    for who in CLASS:
        if (push := getattr(who, when)) is not None:
            made[who.name] = push(server / f"{address_of(who)}.git")
    return made


def refs(repository):
    """All that a repository's names point to."""
    said = subprocess.run(
        ["git", "-C", str(repository), "for-each-ref", "--format=%(objectname) %(refname)"],
        env=ENVIRONMENT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return said.stdout.splitlines()
