"""`leyden trust` and `untrust`, on machines of their own with real stores."""

import json
import shutil
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.customer.trust.machine import Machine, certutil, database, made, names
from tests.nodes.certificates.test_authority import serving

NAME = "Leyden nodes.localhost"
FILE = "leyden-nodes.localhost.crt"
# Wherever browsers keep theirs, by the reports of people who looked.
PATHS = (
    ".pki/nssdb",
    ".local/share/pki/nssdb",
    ".mozilla/firefox/ab12cd34.default-release",
    ".mozilla/firefox/ef56ab78.other",
    ".config/mozilla/firefox/ab12cd34.default",
    ".librewolf/ab12cd34.default",
    "snap/chromium/2934/.pki/nssdb",
    "snap/chromium/2934/.local/share/pki/nssdb",
    "snap/firefox/common/.mozilla/firefox/ab12cd34.default",
    ".var/app/org.chromium.Chromium/.pki/nssdb",
    ".var/app/com.google.Chrome/data/pki/nssdb",
    ".var/app/org.mozilla.firefox/.mozilla/firefox/ab12cd34.default",
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return made(tmp_path / "machine")


@pytest.fixture
def databases(machine: Machine) -> list[Path]:
    found = [database(machine.person / path) for path in PATHS]
    (machine.person / "snap/chromium/current").symlink_to("2934")
    (machine.person / ".mozilla/firefox/profiles.ini").write_text("[General]")
    return found


def test_every_store_is_found_and_left_as_it_was(
    machine: Machine, databases: list[Path], tmp_path: Path
) -> None:
    machine.authority()
    other = Machine(tmp_path / "other")
    other.folder.mkdir()
    other.authority()
    (machine.anchors / "company.crt").write_bytes(other.root.read_bytes())
    for each in databases:
        certutil(each, "-A", "-t", "C,,", "-n", "company", "-i", str(other.root))
    before = [names(each) for each in databases]

    done = machine.leyden("trust")
    assert done.returncode == 0, done.stderr
    assert "nodes.localhost, localhost, 127.0.0.1 only" in done.stdout
    assert "Restart open browsers" in done.stdout
    assert f"leyden untrust {NAME.removeprefix('Leyden ')}" in done.stdout
    for each in databases:
        assert names(each) == {"company": "C,,", NAME: "C,,"}
    assert (machine.anchors / FILE).read_bytes() == machine.root.read_bytes()
    bundle = (machine.bundles / "ca-certificates.crt").read_text()
    assert machine.root.read_text().strip() in bundle
    assert (machine.bundles / "ca-certificates.crt").stat().st_mode & 0o777 == 0o644

    again = machine.leyden("trust", "--json")
    assert again.returncode == 0
    stores = json.loads(again.stdout)["stores"]
    assert len(stores) == 1 + len(PATHS)
    assert {each["did"] for each in stores} == {"trusted before"}

    for expected in ("removed", "not there"):
        gone = machine.leyden("untrust", "--json")
        assert gone.returncode == 0, gone.stderr
        stores = json.loads(gone.stdout)["stores"]
        assert {each["did"] for each in stores} == {expected}
    assert [names(each) for each in databases] == before
    assert [path.name for path in machine.anchors.iterdir()] == ["company.crt"]
    bundle = (machine.bundles / "ca-certificates.crt").read_text()
    assert machine.root.read_text().strip() not in bundle


def test_programs_trust_it_then_and_no_more_afterwards(
    machine: Machine, tmp_path: Path
) -> None:
    tls = machine.authority().issue("localhost", now=datetime.now(UTC))
    with serving(tls, tmp_path) as port:
        asks = ("curl", "-sS", "--noproxy", "*", f"https://localhost:{port}/")
        assert machine.run(*asks).returncode == 60
        machine.leyden("trust", "--store", "system")
        assert machine.run(*asks).stdout == "hello"
        machine.leyden("untrust")
        assert machine.run(*asks).returncode == 60


def test_an_old_root_of_the_same_name_is_replaced(machine: Machine) -> None:
    machine.authority()
    path = database(machine.person / ".pki/nssdb")
    assert machine.leyden("trust").returncode == 0
    machine.authority()
    done = machine.leyden("trust", "--json")
    stores = json.loads(done.stdout)["stores"]
    assert {each["did"] for each in stores} == {"replaced"}
    shown = certutil(path, "-L", "-n", NAME, "-a")
    assert shown.count("BEGIN") == 1
    now_there = ssl.PEM_cert_to_DER_cert(machine.root.read_text())
    assert ssl.PEM_cert_to_DER_cert(shown.strip()) == now_there
    assert (machine.anchors / FILE).read_bytes() == machine.root.read_bytes()


def test_what_was_trusted_is_removed_after_the_platform_is_gone(
    machine: Machine,
) -> None:
    machine.authority()
    path = database(machine.person / ".pki/nssdb")
    machine.leyden("trust")
    machine.root.unlink()
    assert machine.leyden("untrust", "nodes.localhost").returncode == 0
    assert names(path) == {}
    assert not (machine.anchors / FILE).exists()
    done = machine.leyden("untrust")
    assert done.returncode == 1
    assert "nothing to remove" in done.stderr


def test_anothers_root_of_the_same_name_is_not_removed(
    machine: Machine, tmp_path: Path
) -> None:
    machine.authority()
    path = database(machine.person / ".pki/nssdb")
    machine.leyden("trust")
    other = Machine(tmp_path / "other")
    other.folder.mkdir()
    other.authority()
    certutil(path, "-D", "-n", NAME)
    certutil(path, "-A", "-t", "C,,", "-n", NAME, "-i", str(other.root))
    (machine.anchors / FILE).write_bytes(other.root.read_bytes())
    assert machine.leyden("untrust").returncode == 0
    assert names(path) == {NAME: "C,,"}
    assert (machine.anchors / FILE).exists()


def test_a_store_that_cannot_be_written_fails_and_the_others_do_not(
    machine: Machine,
) -> None:
    machine.authority()
    locked = database(machine.person / ".mozilla/firefox/a.default", password="a lamp")
    path = database(machine.person / ".pki/nssdb")
    done = machine.leyden("trust")
    assert done.returncode == 1
    assert "primary password" in done.stderr
    assert names(locked) == {}
    assert names(path) == {NAME: "C,,"}


def test_one_imported_by_hand_stays_as_it_was(machine: Machine) -> None:
    machine.authority()
    path = database(machine.person / ".pki/nssdb")
    certutil(path, "-A", "-t", "C,,", "-n", "by hand", "-i", str(machine.root))
    for command in ("trust", "untrust"):
        assert machine.leyden(command, "--store", "browsers").returncode == 0
        assert names(path) == {"by hand": "C,,"}


def test_it_is_not_run_with_sudo(machine: Machine) -> None:
    machine.authority()
    done = machine.leyden("trust", SUDO_USER="somebody")
    assert done.returncode == 1
    assert "without sudo" in done.stderr
    assert not list(machine.anchors.iterdir())


def test_a_home_from_before_is_refused_with_the_rotation(machine: Machine) -> None:
    machine.authority(scope=None)
    path = database(machine.person / ".pki/nssdb")
    done = machine.leyden("trust")
    assert done.returncode == 1
    assert "leyden ca rotate" in done.stderr
    assert names(path) == {}
    assert not list(machine.anchors.iterdir())


def test_where_certutil_is_missing_its_package_is_named(
    machine: Machine, tmp_path: Path
) -> None:
    machine.authority()
    path = database(machine.person / ".pki/nssdb")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("unshare", "sh", "mount", "apt-get"):
        (programs / name).symlink_to(shutil.which(name) or "")
    words = ("trust", "--store", "browsers")
    done = machine.leyden(*words, PATH=str(programs))
    assert done.returncode == 1
    assert "sudo apt-get install libnss3-tools" in done.stderr
    assert names(path) == {}


def test_a_chromium_that_was_never_started_finds_what_is_made_for_it(
    machine: Machine, tmp_path: Path
) -> None:
    machine.authority()
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("unshare", "sh", "mount", "certutil"):
        (programs / name).symlink_to(shutil.which(name) or "")
    words = ("trust", "--store", "browsers")
    done = machine.leyden(*words, PATH=str(programs))
    assert "Found no browser's trust store" in done.stdout
    (programs / "google-chrome").symlink_to("/bin/true")
    done = machine.leyden(*words, PATH=str(programs))
    assert done.returncode == 0, done.stderr
    assert names(machine.person / ".pki/nssdb") == {NAME: "C,,"}
