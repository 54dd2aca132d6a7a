"""No macaroon stays on disk, and nothing else is touched."""

import os
from pathlib import Path

from leyden.nodes.lnd.sweep import sweep

NETWORK = Path("data/chain/bitcoin/simnet")
# What lnd 0.20.2 writes at an unlock without stateless_init.
WRITTEN = sorted(
    f"{NETWORK}/{name}.macaroon"
    for name in (
        "admin",
        "chainnotifier",
        "invoice",
        "invoices",
        "readonly",
        "router",
        "signer",
        "walletkit",
    )
)
OTHERS = ["lnd.conf", "tls.key", "remote-signer.mac", f"{NETWORK}/macaroons.db"]


def a_home(tmp_path: Path) -> Path:
    home = tmp_path / "7"
    (home / NETWORK).mkdir(parents=True)
    for name in (*WRITTEN, *OTHERS):
        (home / name).write_bytes(b"x")
    return home


def test_what_lnd_wrote_is_removed_and_listed(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    assert list(sweep(home)) == WRITTEN
    assert all((home / name).exists() for name in OTHERS)
    assert not any((home / name).exists() for name in WRITTEN)


def test_a_second_sweep_finds_nothing(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    sweep(home)
    assert sweep(home) == ()


def test_a_node_without_a_folder_has_none(tmp_path: Path) -> None:
    assert sweep(tmp_path / "never-made") == ()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    home, elsewhere = a_home(tmp_path), tmp_path / "elsewhere"
    elsewhere.mkdir()
    precious = elsewhere / "mine.macaroon"
    precious.write_text("precious")
    (home / "linked").symlink_to(elsewhere)
    (home / "link.macaroon").symlink_to(precious)
    assert "link.macaroon" in sweep(home)
    assert precious.read_text() == "precious"
    assert not os.path.lexists(home / "link.macaroon")


def test_capital_letters_hide_nothing(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    (home / "Admin.MACAROON").write_bytes(b"x")
    assert "Admin.MACAROON" in sweep(home)
