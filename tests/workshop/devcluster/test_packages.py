"""Packages have one version each, and what the archive has instead is told."""

import pytest

from leyden.errors import SetupError
from leyden_workshop.devcluster.packages import choose, pinned

LISTED = """\
    containerd | 1.6.20~ds1-1+deb12u3 | http://archive bookworm/main amd64 Packages
    containerd | 1.6.20~ds1-1+deb12u2 | http://archive bookworm/main amd64 Packages
  etcd-server | 3.4.23-4+b4 | http://archive bookworm/main amd64 Packages
"""


def test_a_package_that_was_only_built_again_is_the_same() -> None:
    wanted = {"containerd": "1.6.20~ds1-1+deb12u2", "etcd-server": "3.4.23-4"}
    assert choose(wanted, LISTED, machine="Debian") == {
        "containerd": "1.6.20~ds1-1+deb12u2",
        "etcd-server": "3.4.23-4+b4",
    }


def test_what_the_archive_has_instead_is_told_for_each_package() -> None:
    wanted = {"containerd": "1.6.20~ds1-1+deb12u1", "runc": "1.1.5", "etcd-server": "3"}
    with pytest.raises(SetupError) as refused:
        choose(wanted, LISTED, machine="Debian 12")
    said = refused.value.message
    assert "the archive of Debian 12 lacks the versions" in said
    text = "1.6.20~ds1-1+deb12u3, 1.6.20~ds1-1+deb12u2"
    assert f"containerd 1.6.20~ds1-1+deb12u1 (available: {text})" in said
    assert "runc 1.1.5 (available: none)" in said
    assert "etcd-server 3 (available: 3.4.23-4+b4)" in said


def test_each_package_is_pinned_once() -> None:
    versions = pinned()
    assert {"containerd", "runc", "etcd-server", "nftables"} <= {*versions}
    assert all(versions.values())
