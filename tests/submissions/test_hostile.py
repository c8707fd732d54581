"""Hand-ins that mean harm: what is harmful is left out by name, and nothing else is lost."""

import errno
import gzip
import io
import itertools
import os
import random
import re
import stat
import struct
import tarfile
import time
import tracemalloc
import warnings
import zipfile

import pytest
from helpers import tricks
from helpers.opened import here
from helpers.soak import sampled

from labgrade.core.errors import UsageError
from labgrade.submissions import archive_reader, find, store

pytestmark = pytest.mark.slow

LINK = "it is a link; hand in the file itself"
IRREGULAR = "it is not a regular file"
LEADS_OUT = "its path leads out of the hand-in ('..')"


@pytest.fixture
def take(tmp_path):
    """Takes a hand-in, and sees to it that nothing but regular files of ours came of it, and nothing elsewhere."""

    def taken(source, name="x"):
        before = {path for path in tmp_path.rglob("*") if tmp_path / "store" not in path.parents}
        found = find.take(source, name, tmp_path / "store", opening=here)
        after = {path for path in tmp_path.rglob("*") if tmp_path / "store" not in path.parents}
        assert after - before <= {tmp_path / "store"}
        there = [path for path in (tmp_path / "store").rglob("*") if not path.is_dir() or path.is_symlink()]
        assert all(stat.S_ISREG(path.lstat().st_mode) and path.lstat().st_nlink == 1 for path in there)
        assert sorted(path.relative_to(found.folder).as_posix() for path in there) == list(found.files)
        return found

    return taken


def contents(found):
    return {path: (found.folder / path).read_bytes() for path in found.files}


# ---- folders ---------------------------------------------------------------------------------------------------


def test_a_folder_full_of_traps(tmp_path, take):
    secret = tmp_path / "secret"
    secret.write_text("1498376192")
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "ok.py").write_text("x = 1")
    (work / "sub" / "ok.py").write_text("y")
    (work / "symbolic").symlink_to(secret)
    (work / "folder").symlink_to(tmp_path)
    (work / "sub" / "up").symlink_to("..")
    os.link(secret, work / "hard")
    os.mkfifo(work / "fifo")
    (work / "new\nline").write_text("")
    (work / "back\\slash.py").write_text("z")
    (work / "\x1b[2Jclear").write_text("")
    with (work / "sparse").open("wb") as file:
        file.truncate(10 << 30)
    found = take(work)
    assert contents(found) == {"ok.py": b"x = 1", "sub/ok.py": b"y", "back/slash.py": b"z"}
    assert found.refused == (
        "'\\x1b[2Jclear', because its name holds characters that can't be shown",
        "'fifo', because it is not a regular file",
        f"'folder', because {LINK}",
        "'hard', because it is a hard link, which may be to a file of somebody else's; hand in a copy",
        "'new\\nline', because its name holds characters that can't be shown",
        "'sparse', because it is larger than 256 MiB",
        f"'sub/up', because {LINK}",
        f"'symbolic', because {LINK}",
    )


def test_a_folder_that_becomes_a_link_while_it_is_read(tmp_path, take, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.txt").write_text("secret")
    (tmp_path / "work" / "sub").mkdir(parents=True)
    (tmp_path / "work" / "sub" / "a.txt").write_text("own")
    accepts = store.Store.accepts

    def swapped(self, path, size):
        if path == "sub/a.txt":
            (tmp_path / "work" / "sub").rename(tmp_path / "work" / "old")
            (tmp_path / "work" / "sub").symlink_to(tmp_path / "elsewhere")
        return accepts(self, path, size)

    monkeypatch.setattr(store.Store, "accepts", swapped)
    found = find.take(tmp_path / "work", "x", tmp_path / "store", opening=here)
    assert found.files == ()
    assert found.refused == ("'sub/a.txt', because it can't be read (Not a directory)",)


@pytest.mark.promise("nobody-hands-in-anothers-work")
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give a link away")
@pytest.mark.parametrize(("maker", "owner", "taken"), [(7001, 0, False), (7001, 7001, True), (0, 7001, True)])
def test_a_folder_that_somebody_linked_into_an_exchange_is_not_read_as_theirs(tmp_path, maker, owner, taken):
    """In a folder that all may write a student links a folder that only who grades may read, such as solutions."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/hw.py").write_text("right = 1")
    (tmp_path / "class").mkdir()
    (tmp_path / "class/eve").symlink_to(tmp_path / "secret")
    os.chown(tmp_path / "class/eve", maker, maker, follow_symlinks=False)
    os.chown(tmp_path / "secret", owner, owner)
    (found,) = find.find(tmp_path / "class", ["all"], tmp_path / "store", opening=here).submissions
    assert found.files == (("hw.py",) if taken else ())
    assert taken or found.refused[0].startswith("'eve', because it is a link to a folder of somebody else's")


def test_a_file_that_is_swapped_for_another(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("own")
    (tmp_path / "other").write_text("secret")
    accepts = store.Store.accepts

    def swapped(self, path, size):
        (tmp_path / "other").replace(work / "a.txt")
        return accepts(self, path, size)

    monkeypatch.setattr(store.Store, "accepts", swapped)
    found = find.take(work, "x", tmp_path / "store", opening=here)
    assert found.refused == ("'a.txt', because it changed while it was read",)


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [
        ("MOST_FILES", 3, "3 files are the most"),
        ("ALL_BYTES", 1000, "all files together are larger than 0 MiB"),
        ("ONE_BYTES", 500, "it is larger than 0 MiB"),
    ],
)
def test_too_many_and_too_much_lose_the_largest(tmp_path, take, monkeypatch, limit, value, reason):
    monkeypatch.setattr(store, limit, value)
    monkeypatch.setattr(store, "_OF_RARE", 0)
    work = tmp_path / "work"
    work.mkdir()
    for name, size in {"a": 700, "b": 100, "c": 200, "d": 800, "e": 5}.items():
        (work / name).write_bytes(b"x" * size)
    found = take(work)
    assert found.files == ("b", "c", "e")
    assert found.refused == (f"'a', because {reason}", f"'d', because {reason}")


def test_a_thousand_refusals_are_counted_not_listed(tmp_path, take):
    work = tmp_path / "work"
    work.mkdir()
    for number in range(1000):
        (work / f"link{number:04}").symlink_to("x")
    found = take(work)
    assert len(found.refused) == store.MOST_NAMED + 1
    assert found.refused[-1] == "950 more"


def test_folders_without_end(tmp_path, take):
    deep = tmp_path / "work"
    for _ in range(40):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "x.txt").write_text("x")
    found = take(tmp_path / "work")
    assert found.files == ()
    assert found.refused[0].endswith("because it lies more than 16 folders deep")


def test_what_can_not_be_read_is_named_and_is_no_fault_of_the_student_s(tmp_path, take, monkeypatch):
    for name in ("a.txt", "b.txt", "below/c.txt"):
        (tmp_path / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "work" / name).write_text("x")
    (tmp_path / "work" / "link").symlink_to("nowhere")
    broken = {"a.txt": errno.EACCES, "below": errno.EIO, "b.txt": errno.ENOENT}
    opened = os.open

    def refuse(path, *given, **named):
        if path in broken:
            raise OSError(broken[path], os.strerror(broken[path]))
        return opened(path, *given, **named)

    monkeypatch.setattr(os, "open", refuse)
    found = take(tmp_path / "work")
    assert found.refused == (
        "'a.txt', because it can't be read (Permission denied)",
        "'b.txt', because it can't be read (No such file or directory)",
        "'below', because it can't be read (Input/output error)",
        f"'link', because {LINK}",
    )
    assert sorted(found.unread) == ["'a.txt' (Permission denied)", "'below' (Input/output error)"]


def test_a_file_that_breaks_off_while_it_is_read_is_no_fault_of_the_student_s(tmp_path, take, monkeypatch):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("x")

    def broken(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "read", broken)
    assert take(tmp_path / "work").unread == ("'a.txt' (Input/output error)",)


def test_a_git_checkout_leaves_its_history_behind(tmp_path, take):
    for path in (".git/config", ".gitignore", "src/.venv/x", "src/hw.py", "__pycache__/x.pyc", ".DS_Store"):
        (tmp_path / "work" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "work" / path).write_text("x")
    found = take(tmp_path / "work")
    assert found.files == (".gitignore", "src/hw.py")
    assert found.refused == ()


# ---- zip -------------------------------------------------------------------------------------------------------


@pytest.fixture
def zipped(tmp_path):
    """Writes a zip of `(name or ZipInfo, content)`."""

    def write(*entries, name="hw.zip"):
        path = tmp_path / name
        with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            warnings.simplefilter("ignore")  # of names that come twice
            for entry, content in entries:
                archive.writestr(entry, content)
        return path

    return write


def special(name, mode):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def test_a_zip_full_of_traps(zipped, take):
    found = take(
        zipped(
            ("ok.py", "x"),
            ("sub/ok.txt", "y"),
            ("./dotted.txt", "z"),
            ("../../up.txt", "evil"),
            ("sub/../../up.txt", "evil"),
            ("/absolute.txt", "evil"),
            ("C:/drive.txt", "evil"),
            ("a\\..\\..\\w.txt", "evil"),
            (special("link", stat.S_IFLNK | 0o777), "/etc/passwd"),
            (special("device", stat.S_IFCHR | 0o666), ""),
            ("bomb.txt", b"\0" * (20 << 20)),
            ("new\nline.txt", "evil"),
            ("ok.py", "l"),
            ("ok.py/inside.txt", "evil"),
            ("__MACOSX/._ok.py", "clutter"),
            ("empty/", ""),
        )
    )
    assert contents(found) == {"ok.py": b"l", "sub/ok.txt": b"y", "dotted.txt": b"z"}
    assert found.refused == (
        f"'../../up.txt', because {LEADS_OUT}",
        "'/absolute.txt', because its path is absolute",
        "'C:/drive.txt', because its path is absolute",
        f"'a/../../w.txt', because {LEADS_OUT}",
        "'bomb.txt', because it would unpack to more than 200 times its size",
        "'device', because it is not a regular file",
        f"'link', because {LINK}",
        "'new\\nline.txt', because its name holds characters that can't be shown",
        "'ok.py', because the archive holds it more than once, and the last one counts",
        "'ok.py/inside.txt', because a file and a folder have the same name",
        f"'sub/../../up.txt', because {LEADS_OUT}",
    )


@pytest.mark.parametrize("system", [0, 3])
def test_backslashes_of_a_windows_zip_are_folders(zipped, take, system):
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = "hw\\sub\\a.py"
    info.create_system = system
    out = zipfile.ZipInfo("x")
    out.filename = out.orig_filename = "..\\..\\up.py"
    out.create_system = system
    found = take(zipped((info, "x"), (out, "evil")))
    assert found.files == ("hw/sub/a.py",)
    assert found.refused == (f"'../../up.py', because {LEADS_OUT}",)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("作業.py".encode("cp950"), "作業.py"),
        ("許功蓋.py".encode("cp950"), "許功蓋.py"),  # with a backslash in its second bytes
        ("作業.py".encode(), "作業.py"),
        ("学号.py".encode("gb2312"), "学号.py"),
        ("Ren\u00e9.py".encode("cp437"), "Ren\u00e9.py"),
    ],
)
def test_names_of_zips_in_the_encoding_of_their_system(zipped, take, raw, name):
    path = zipped(("A" * len(raw), "x"))
    path.write_bytes(path.read_bytes().replace(b"A" * len(raw), raw))
    assert take(path).files == (name,)


def test_names_that_macos_decomposed_are_one_file(zipped, take):
    found = take(zipped(("Rene\u0301.py", "x"), ("Ren\u00e9.py", "xx")))
    assert found.files == ("Ren\u00e9.py",)
    assert found.refused == ("'Ren\u00e9.py', because the archive holds it more than once, and the last one counts",)
    assert contents(found) == {"Ren\u00e9.py": b"xx"}


def test_among_far_too_many_files_those_of_a_rare_kind_are_taken(zipped, take, monkeypatch):
    monkeypatch.setattr(store, "MOST_FILES", 100)
    found = take(zipped(*((f"data/{number}.txt", "") for number in range(500)), ("lab2.py", "x = 1")))
    assert "lab2.py" in found.files
    assert len(found.files) == 101
    assert found.refused[-1] == "350 more"


def test_an_encrypted_entry_a_wrong_checksum_and_an_unknown_method(zipped, take):
    path = zipped(("a.txt", "aaaa"), ("b.txt", "bbbb"), ("c.txt", "cccc"), ("d.txt", "dddd"))
    data = bytearray(path.read_bytes())
    for name, offset, value in ((b"a.txt", 8, 1), (b"b.txt", 10, 99)):  # the flag of encryption; the method
        central = data.rindex(b"PK\x01\x02", 0, data.rindex(name))
        struct.pack_into("<H", data, central + offset, value)
    local = data.index(b"PK\x03\x04", data.index(b"c.txt") - 31)
    central = data.rindex(b"PK\x01\x02", 0, data.rindex(b"c.txt"))
    struct.pack_into("<I", data, central + 16, 7)
    struct.pack_into("<I", data, local + 14, 7)
    path.write_bytes(data)
    found = take(path)
    assert contents(found) == {"d.txt": b"dddd"}
    assert found.refused == (
        "'a.txt', because it is encrypted; hand it in without a password",
        "'b.txt', because it is damaged or cut short",
        "'c.txt', because it is damaged or cut short",
    )


@pytest.mark.parametrize("keep", [0, 10, 60, -1, -30])
def test_a_zip_cut_short_is_named_and_is_no_crash(zipped, take, keep):
    path = zipped(("a.txt", "x" * 100))
    path.write_bytes(path.read_bytes()[:keep])
    found = take(path)
    assert found.files == ()
    assert found.refused == ("'hw.zip', because it is no zip archive, or damaged or cut short",)


def test_the_work_in_an_archive_within_an_archive_is_unpacked(zipped, take):
    inner = zipped(("deep.py", "x"), name="inner.zip").read_bytes()
    middle = zipped(("inner.zip", inner), ("hw.py", "y"), name="\u4f5c\u696d.zip").read_bytes()
    found = take(zipped(("hw2/\u4f5c\u696d.zip", middle), ("report.pdf", "z")))
    assert found.files == ("hw2/hw.py", "hw2/inner.zip", "report.pdf")  # work lies beside the innermost one


@pytest.mark.parametrize(
    ("depth", "files", "refused"),
    [
        (3, ("hw.py",), ()),
        (4, (), ("'a.zip', because archives within archives are unpacked to a depth of 3; hand in one",)),
    ],
)
def test_archives_are_unpacked_to_a_depth_of_three(zipped, take, depth, files, refused):
    entry = ("hw.py", "x")
    for _ in range(depth):
        archive = zipped(entry, name="a.zip")
        entry = ("a.zip", archive.read_bytes())
    found = take(archive)
    assert (found.files, found.refused) == (files, refused)


def test_what_is_unpacked_in_vain_is_bounded_too(zipped, take, monkeypatch):
    """Entries that turn out to be damaged at their end, each of which is nearly as large as all may be."""
    monkeypatch.setattr(store, "ALL_BYTES", 100_000)
    monkeypatch.setattr(archive_reader, "_PIECE", 10_000)
    damaged = zipped(*[(f"{number}.bin", "x" * 80_000) for number in range(30)])
    content = bytearray(damaged.read_bytes())
    for listed in re.finditer(b"PK\x01\x02", bytes(content)):
        content[listed.start() + 16] ^= 1  # the check sum
    damaged.write_bytes(content)
    found = take(damaged, name="x")
    assert found.files == ()
    assert sum("all that was unpacked is larger than" in each for each in found.refused) == 25


def test_a_lying_size_brings_no_more_than_it_says(zipped, take):
    path = zipped(("a.txt", "x" * 10_000))
    data = path.read_bytes().replace(struct.pack("<I", 10_000), struct.pack("<I", 10))
    path.write_bytes(data)
    found = take(path)
    assert found.refused == ("'a.txt', because it is damaged or cut short",)


def test_a_list_of_millions_is_not_read(tmp_path, take):
    path = tmp_path / "hw.zip"
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 0, 20, 0, 0, 0, 0, 0x21, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    listed = entry * (1 + (64 << 20) // len(entry))
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFE, 0xFFFE, len(listed), 0, 0)
    path.write_bytes(listed + end)
    tracemalloc.start()
    found = take(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.refused == ("'hw.zip', because it lists more files than any hand-in holds",)
    assert most < 8 << 20


# ---- tar -------------------------------------------------------------------------------------------------------


def tarred(path, *members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, kind, extra in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname = extra
            data = extra if kind == tarfile.REGTYPE else b""
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize(("name", "mode"), [("hw.tar", "w"), ("hw.tar.gz", "w:gz"), ("hw.TGZ", "w:gz")])
def test_a_tar_full_of_traps(tmp_path, take, name, mode):
    (tmp_path / "secret").write_text("1498376192")
    path = tarred(
        tmp_path / name,
        ("./ok.py", tarfile.REGTYPE, b"x"),
        ("../../up.txt", tarfile.REGTYPE, b"evil"),
        ("/absolute.txt", tarfile.REGTYPE, b"evil"),
        ("symbolic", tarfile.SYMTYPE, "../secret"),
        ("hard", tarfile.LNKTYPE, "../secret"),
        ("parent", tarfile.SYMTYPE, str(tmp_path)),
        ("parent/in.txt", tarfile.REGTYPE, b"harmless"),
        ("device", tarfile.CHRTYPE, None),
        ("fifo", tarfile.FIFOTYPE, None),
        ("ok.py", tarfile.REGTYPE, b"later"),
        ("last.txt", tarfile.REGTYPE, b"z"),
        mode=mode,
    )
    found = take(path)
    assert contents(found) == {"ok.py": b"later", "parent/in.txt": b"harmless", "last.txt": b"z"}
    assert found.refused == (
        f"'../../up.txt', because {LEADS_OUT}",
        "'/absolute.txt', because its path is absolute",
        f"'device', because {IRREGULAR}",
        f"'fifo', because {IRREGULAR}",
        f"'hard', because {LINK}",
        "'ok.py', because the archive holds it more than once, and the last one counts",
        f"'parent', because {LINK}",
        f"'symbolic', because {LINK}",
    )


def test_a_tar_bomb_is_left_where_it_begins(tmp_path, take):
    path = tmp_path / "hw.tar.gz"
    with gzip.open(path, "wb", compresslevel=9) as packed, tarfile.open(fileobj=packed, mode="w|") as archive:
        for name, size in (("ok.py", 1), ("bomb", 300 << 20), ("after.py", 1)):
            info = tarfile.TarInfo(name)
            info.size = size
            archive.addfile(info, _Zeros(size))
    found = take(path)
    assert found.files == ("ok.py",)
    assert found.refused[0].startswith("'bomb', because it is larger than 256 MiB")
    assert found.refused[1].startswith("'hw.tar.gz', because it unpacks to more than 200 times its size")


class _Zeros(io.RawIOBase):
    def __init__(self, size):
        self.left = size

    def read(self, size=-1):
        size = min(self.left, size)
        self.left -= size
        return bytes(size)


@pytest.mark.parametrize("keep", [0, 20, 200, -20])
def test_a_tar_cut_short_keeps_what_came_before(tmp_path, take, keep):
    noise = random.Random(1).randbytes  # noqa: S311 - noise
    members = [(f"{n}.bin", tarfile.REGTYPE, noise(100)) for n in range(3)]
    path = tarred(tmp_path / "hw.tar.gz", *members)
    path.write_bytes(path.read_bytes()[:keep])
    found = take(path)
    assert len(found.refused) >= 1
    assert all("damaged or cut short" in each for each in found.refused)
    assert set(contents(found).values()) <= {content for _, _, content in members}


def test_a_tar_that_ends_between_two_files_is_said_to_be_cut_short(tmp_path, take):
    members = [(f"{n}.bin", tarfile.REGTYPE, b"x" * 100) for n in range(3)]
    path = tarred(tmp_path / "hw.tar", *members, mode="w")
    path.write_bytes(path.read_bytes()[:2048])
    assert take(path).refused == ("'hw.tar', because it is damaged or cut short; what came before was taken",)


def test_a_tar_with_a_broken_description_is_said_to_be_damaged(tmp_path, take):
    members = [(f"{n}.bin", tarfile.REGTYPE, b"x" * 100) for n in range(3)]
    path = tarred(tmp_path / "hw.tar", *members, mode="w")
    whole = path.read_bytes()
    path.write_bytes(whole[:1024] + b"noise" + whole[1029:])
    found = take(path)
    assert found.files == ("0.bin",)
    assert found.refused == ("'hw.tar', because it is damaged or cut short; what came before was taken",)


def header(name, size, kind):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


SPARSE_BLOCK = (b"%011o\0%011o\0" % (1, 1)) * 21 + b"\1" + bytes(7)
DESCRIPTIONS = {
    "a name without end": (header("x", 100 << 20, tarfile.GNUTYPE_LONGNAME), b"n" * 512, 100 << 20),
    "digits, which take the square of their number": (header("x", 1 << 20, tarfile.XHDTYPE), b"1" * 512, 1 << 20),
    "many such": (header("x", 1 << 16, tarfile.XHDTYPE) + b"1" * (1 << 16), b"", 0),
    "holes without end": (
        header("x", 0, tarfile.GNUTYPE_SPARSE)[:482] + b"\1" + header("x", 0, tarfile.GNUTYPE_SPARSE)[483:],
        SPARSE_BLOCK,
        100 << 20,
    ),
}


@pytest.mark.parametrize("name", sampled(DESCRIPTIONS, 3))
def test_a_description_without_end_is_not_read_to_its_end(tmp_path, take, name):
    first, again, size = DESCRIPTIONS[name]
    first = first[:148] + bytes(8) + first[156:]
    first = first[:148] + b"%06o\0 " % (sum(first[:512]) + 8 * 32) + first[156:]
    path = tmp_path / "hw.tar"
    tarred(path, ("ok.py", tarfile.REGTYPE, b"x"), mode="w")
    repeated = first * 20 if not again else first + again * (size // len(again))
    path.write_bytes(path.read_bytes()[:1024] + repeated + bytes(1024))
    tracemalloc.start()
    begun = time.process_time()
    found = take(path)
    took = time.process_time() - begun
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.files == ("ok.py",)
    # Which of the two it is, depends on how much of such a description this Python's tarfile looks at.
    why = ("the description of a file in it is too large", "it is damaged or cut short")
    assert found.refused in [(f"'hw.tar', because {each}; what came before was taken",) for each in why]
    assert took < 60
    assert most < 64 << 20


SKIPPED = {
    "a file": (header("x", 10**13, tarfile.REGTYPE), "'x', because it is larger than 256 MiB"),
    "attributes": (tricks.a_tar(("x", {"size": "9" * 13}, b"x")), "'x', because it is larger than 256 MiB"),
    "holes": (tricks.a_sparse_tar(), "'sparse', because it would unpack to more than 200 times its size"),
}


@pytest.mark.parametrize("kind", SKIPPED)
def test_a_file_that_is_said_to_be_huge_takes_no_work(tmp_path, take, kind, monkeypatch):
    """Behind the end of an archive tarfile reads on for all that was said to come; holes are made of nothing."""
    begin, refused = SKIPPED[kind]
    path = tarred(tmp_path / "hw.tar", ("ok.py", tarfile.REGTYPE, b"x"), mode="w")
    path.write_bytes(path.read_bytes()[:1024] + begin)
    times, sent = itertools.count(), []

    class Counted(archive_reader._Bounded):
        def read(self, size):
            assert next(times) < 3_000
            return super().read(size)

    monkeypatch.setattr(archive_reader, "_Bounded", Counted)
    pieces = archive_reader._pieces
    monkeypatch.setattr(archive_reader, "_pieces", lambda *_: (sent.append(len(each)) or each for each in pieces(*_)))
    found = take(path)
    assert found.files == ("ok.py",)
    assert refused in found.refused
    assert sum(sent) == len(b"x")


def test_big5_names_of_a_tar(tmp_path, take):
    path = tmp_path / "hw.tar"
    with tarfile.open(path, "w", encoding="cp950", format=tarfile.GNU_FORMAT) as archive:
        info = tarfile.TarInfo("作業.py")
        archive.addfile(info, io.BytesIO(b""))
    assert take(path).files == ("作業.py",)


def test_noise_is_never_a_crash(tmp_path):
    """A hundred archives with bytes flipped here and there: each is taken as far as it goes."""
    with zipfile.ZipFile(tmp_path / "good.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"d/{number}.txt", f"text {number} " * 50)
    tarred(tmp_path / "good.tar", *((f"{n}.txt", tarfile.REGTYPE, b"x" * 700) for n in range(4)), mode="w")
    tarred(tmp_path / "good.tgz", *((f"{n}.txt", tarfile.REGTYPE, b"x" * 700) for n in range(4)))
    dice = random.Random(20)  # noqa: S311 - noise
    for number in range(150):
        good = tmp_path / f"good.{('zip', 'tar', 'tgz')[number % 3]}"
        data = bytearray(good.read_bytes())
        for _ in range(dice.randint(1, 12)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        bad = tmp_path / f"bad{number}{good.suffix}"
        bad.write_bytes(data)
        found = find.take(bad, "x", tmp_path / "stores" / str(number), opening=here)
        assert all(not (found.folder / path).is_symlink() for path in found.files)
        bad.unlink()


# ---- what is no archive ----------------------------------------------------------------------------------------


def test_kinds_that_can_not_be_unpacked_say_what_to_do(tmp_path, take):
    work = tmp_path / "work"
    work.mkdir()
    (work / "hw2.rar").write_bytes(b"Rar!")
    (work / "report.pdf").write_bytes(b"%PDF")
    found = take(work)
    assert found.files == ("report.pdf",)
    assert found.refused == ("'hw2.rar', because '.rar' can't be unpacked here; hand in a .zip or .tar.gz",)


def test_an_archive_beside_the_work_is_left_as_it_is(tmp_path, zipped, take):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "hw.py").write_text("x")
    zipped(("libtorch.txt", "x")).rename(tmp_path / "work" / "libtorch.zip")
    assert take(tmp_path / "work").files == ("hw.py", "libtorch.zip")


def test_an_archive_that_is_all_of_the_work_is_unpacked(tmp_path, zipped, take):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "report.pdf").write_text("x")
    zipped(("hw.py", "x"), ("report.pdf", "packed")).rename(tmp_path / "work" / "hw.zip")
    found = take(tmp_path / "work")
    assert contents(found) == {"hw.py": b"x", "report.pdf": b"x"}
    assert found.refused == ("'report.pdf', because a file of that name came before it",)


def test_what_is_no_archive_at_all_is_a_usage_error(tmp_path):
    (tmp_path / "hw.py").write_text("")
    for name, message in (("hw.py", "is no folder, and no archive that can be unpacked"), ("no", "there is no folder")):
        with pytest.raises(UsageError, match=message):
            find.take(tmp_path / name, "x", tmp_path / "store", opening=here)


@pytest.mark.parametrize("at", ["its name", "its first byte"])
def test_our_own_full_disk_is_nobody_s_hand_in(tmp_path, monkeypatch, at):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("x")
    opened = os.open

    def full(path, flags, *more, **options):
        if not flags & os.O_CREAT:
            return opened(path, flags, *more, **options)
        if at == "its name":
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened("/dev/full", os.O_WRONLY)

    monkeypatch.setattr(store.os, "open", full)
    with pytest.raises(UsageError, match=r"no more can be stored in .*: No space left on device"):
        find.take(tmp_path / "work", "x", tmp_path / "store", opening=here)
