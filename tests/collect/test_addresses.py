"""Where repositories are: what lab.yaml and the roster may say, and what they may not."""

import json

import pytest
from helpers.own_course import write

from labgrade.collect.repositories import repositories
from labgrade.core.errors import SpecError, UsageError
from labgrade.core.git_address import NoAddressError, filled_in, problem
from labgrade.review import roster
from labgrade.spec import load

LIKE = "write https://host/path.git, ssh://git@host/path.git or git@host:path.git"


@pytest.mark.parametrize(
    "address",
    [
        "https://gitlab.example.edu/nn26/{login}/lab2.git",
        "ssh://git@host:2222/{id}.git",
        "git@github.com:nn26/lab2-{login}.git",
        "http://127.0.0.1:8080/{group}/{lab}.git",
        "https://[::1]:8443/x.git",
    ],
)
def test_addresses_of_servers(address):
    assert problem(address) == ""


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("https://me:pw@host/x.git", "holds a password"),
        ("https://host/{name}.git", "nothing is filled in for '{name}'"),
        ("https://host/{login.__class__}", "nothing is filled in for '{login.__class__}'"),
        ("https://host/{login", "no address"),
        ("--upload-pack=touch /tmp/x", "no address"),
        ("-oProxyCommand=x", "no address"),
        ("ssh://-oProxyCommand=x/y", "names no server"),
        ("ext::sh -c id", "no address"),
        ("ext::id", "no address"),
        ("file:///srv/x.git", "no address"),
        ("/srv/x.git", "no address"),
        ("../x", "no address"),
        ("https:///x.git", "no address"),
        ("https://host/a\nb", "no address"),
        ("https://host:port/x", "no address"),
        ("-x@host:path", "no address"),
    ],
)
def test_what_is_none(address, why):
    assert why in problem(address)


@pytest.mark.parametrize("login", ["", "a/b", "..", "-x", "a b", "a?b", "a#b", "a%2fb", "a@host:x", "王"])
def test_what_can_not_be_filled_in(login):
    with pytest.raises(NoAddressError):
        filled_in("https://host/{login}.git", {"login": login})


def test_a_lab_yaml_is_read_with_its_findings(tmp_path):
    rules = ("repository: https://a:b@host/{login}", "template: /srv/x", "hosts: [a, 5]", "branches: main")
    lab = "title: A\ncollect:\n" + "".join(f"  {each}\n" for each in rules)
    write(tmp_path, {"specs/lab/lab.yaml": lab})
    with pytest.raises(SpecError) as error:
        load.labs(tmp_path / "specs")
    said = "\n".join(each.message for each in error.value.findings)
    assert [word in said for word in ("password", "'/srv/x' is no address", "takes no 'branches'")] == [True] * 3


@pytest.mark.promise("rosters-and-courses-stay-inside")
@pytest.mark.parametrize(
    ("key", "wrong", "right"),
    [
        (
            "branch",
            ["--output=x", "a..b", "a b", "refs:x", "x.lock", "/x", "x/", ".x", "a/.b", "a@{1}", "a\\b", "x\ny", "a~1"],
            ["main", "feature/x", "王", "v1.0", "release-2", "a@b"],
        ),
        ("folder", ["..", "../..", "a/../../b", "/etc", "-x", "a\\..\\b", "x\ny"], ["lab2", "labs/lab 2", "a..b", "."]),
        ("document", ["../x.md", "/x.md", "-x"], ["REPORT.md", "docs/report.md"]),
    ],
)
def test_branches_and_places_are_read_with_their_findings(tmp_path, key, wrong, right):
    for text in (*wrong, *right):
        rules = f"title: A\ncollect:\n  repository: https://host/x\n  {key}: {json.dumps(text)}\n"
        write(tmp_path, {"specs/lab/lab.yaml": rules})
        if text in right:
            assert load.labs(tmp_path / "specs")
            continue
        with pytest.raises(SpecError) as error:
            load.labs(tmp_path / "specs")
        (finding,) = error.value.findings
        assert (finding.mark.line, "is no " in finding.message) == (4, True), text


def students(tmp_path, text):
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    return roster.of_course(tmp_path)


RULES = {"repository": "https://host/{login}.git"}


def test_a_roster_is_read_with_its_findings(tmp_path):
    with pytest.raises(SpecError) as error:
        students(tmp_path, "id,group,login,repository\na,,x,file:///x\nb,,x,https://h/r\nc,,,https://h/r\n")
    assert [str(each.message).split(" (line")[0] for each in error.value.findings] == [
        f"'file:///x' is no address of a server: {LIKE}",
        "the login 'x' is that of 'a'",
        "the repository 'https://h/r' is that of 'b'",
    ]


def test_whose_repository_is_where(tmp_path):
    text = (
        "id,group,login,repository,submission\nann,A1,,https://h/g,\nbob,A1,,https://h/g,\ncec,B2,cc,,\ndan,B2,,,the-one\n"
        "王小明,,,,\n.eve,,eve,,\n"
    )
    found = repositories(students(tmp_path, text), "lab", RULES)
    assert [(each.name, each.address, [who.id for who in each.group], each.problem[:22]) for each in found] == [
        (".eve", "https://host/eve.git", [".eve"], "no folder can have thi"),
        ("A1", "https://h/g", ["ann", "bob"], ""),
        ("cec", "https://host/cc.git", ["cec", "dan"], ""),
        ("the-one", "https://host/dan.git", ["cec", "dan"], ""),
        ("王小明", "", ["王小明"], "the login '王小明' can't "),
    ]


def test_an_address_of_two_who_are_no_group_is_neithers(tmp_path):
    found = repositories(students(tmp_path, "id\nann\nbob\n"), "lab", {"repository": "https://host/{lab}.git"})
    assert [(each.name, each.problem) for each in found] == [
        ("ann", "its address is that of 'bob', too, who are not in the same group")
    ]


def test_who_has_only_the_link_of_a_report(tmp_path):
    link = "https://hackmd.io/x"
    text = (
        f"id,group,repository,document\nann,A1,https://h/g,\nbob,A1,,{link}1\n"  # bob's link belongs to the group's
        f"cec,B2,,{link}2\ndan,B2,,{link}2\neve,,none,{link}3\nfay,,none,{link}4\ngil,,,{link}4\nhal,,,\n"
    )
    found = repositories(students(tmp_path, text), "lab", {})
    assert [(each.name, each.address, each.link, [who.id for who in each.owners]) for each in found] == [
        ("A1", "https://h/g", f"{link}1", ["ann", "bob"]),
        ("B2", "", f"{link}2", ["cec", "dan"]),
        ("eve", "", f"{link}3", ["eve"]),
        ("fay", "", f"{link}4", ["fay", "gil"]),
        ("hal", "", "", ["hal"]),
    ]
    assert [each.problem[:39] for each in found] == [
        *("", "", "", "the link of its report is that of 'gil'", "neither lab.yaml (collect.repository) n"),
    ]


def test_nothing_says_where(tmp_path):
    found = repositories(students(tmp_path, "id\nann\n"), "lab", {})
    assert found[0].problem.startswith("neither lab.yaml (collect.repository) nor the roster")
    with pytest.raises(UsageError, match="the course has no roster"):
        repositories(roster.Roster(), "lab", RULES)
    both = roster.Roster(students=(roster.Student(id="a1", submission="A"), roster.Student(id="a")))
    with pytest.raises(UsageError, match=r"two repositories would be called 'a'"):
        repositories(both, "lab", RULES)
