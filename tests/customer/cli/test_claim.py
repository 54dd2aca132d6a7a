"""What a claim keeps on its machine; with a real poold it is in acceptance."""

from pathlib import Path

import pytest

from leyden.customer.claim.owner import PERMISSIONS
from leyden.customer.claim.poold import ClaimPoold, access_for
from leyden.customer.claim.state import ClaimFolder, TicketClaim
from leyden.errors import Conflict, SetupError
from leyden_workshop.devnet import access

ORDER = "1ee88904-6b7f-4e30-b96c-3e4927559807FO"
PIER = TicketClaim(node_id="pier", root_key=2**31 + 7)


@pytest.fixture
def claim_folder(tmp_path: Path) -> ClaimFolder:
    return ClaimFolder(ORDER, {"XDG_STATE_HOME": str(tmp_path), "HOME": "/nowhere"})


async def test_what_is_kept_is_found_again_and_removed(
    claim_folder: ClaimFolder,
) -> None:
    assert claim_folder.load() is None
    async with claim_folder.locked():
        claim_folder.save(PIER)
        assert claim_folder.load() == PIER
        assert claim_folder.folder.stat().st_mode & 0o077 == 0
        claim_folder.remove()
    assert claim_folder.load() is None
    assert list(claim_folder.folder.parent.iterdir()) == []


async def test_an_order_is_claimed_by_one_process_at_a_time(
    claim_folder: ClaimFolder,
) -> None:
    async with claim_folder.locked():
        with pytest.raises(Conflict, match="is running"):
            async with claim_folder.locked():
                pass
    async with claim_folder.locked():
        pass


async def test_what_cannot_be_read_is_not_taken_for_nothing(
    claim_folder: ClaimFolder,
) -> None:
    async with claim_folder.locked():
        claim_folder.save(PIER)
    (claim_folder.folder / "claim.json").write_text("{}")
    with pytest.raises(SetupError, match="not a claim"):
        claim_folder.load()


def test_without_a_state_folder_it_is_below_home() -> None:
    assert ClaimFolder(ORDER, {"HOME": "/home/alice"}).folder == Path(
        f"/home/alice/.local/state/leyden/claims/{ORDER}"
    )


def test_poold_may_neither_spend_nor_bake() -> None:
    """What it may is tried with a real lnd in acceptance."""
    assert len(set(PERMISSIONS)) == len(PERMISSIONS)
    words = ("Send", "Pay", "OpenChannel", "CloseChannel", "Bake", "SignOutput", "Psbt")
    assert not [each for each in PERMISSIONS for word in words if word in each]


@pytest.mark.parametrize("chain", ["mainnet", "testnet"])
def test_on_a_public_network_poold_finds_the_auction_itself(
    tmp_path: Path, chain: str
) -> None:
    lnd = access.LndEndpoint(
        rest="", grpc="127.0.0.1:2", peer="", certificate="", macaroon=""
    )
    words = ClaimPoold(
        name="poold",
        program=Path("/bin/poold"),
        folder=tmp_path,
        chain=chain,
        access=access_for(tmp_path, chain, grpc=1, rest=2, lnd="pier"),
        lnd=lnd,
        auctioneer="",
    ).argv()
    assert f"--network={chain}" in words
    for word in ("--fakeauth", "--insecure", "--auctionserver"):
        assert not [each for each in words if each.startswith(word)]
