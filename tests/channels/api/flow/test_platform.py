"""`GET /platform`: what it says is what a quote takes."""

from leyden.app.serving.api import Api
from leyden.base.platform import Platform
from leyden.values import replace
from tests.base.api.conftest import Caller

PER_MILLION = 1_000_000


async def test_each_channel_that_is_offered_can_be_quoted(alice: Caller) -> None:
    offer = (await alice.get("/platform")).json()["channels"]
    least, most = offer["smallest_capacity"], offer["largest_capacity"]
    step = offer["capacity_step"]
    for capacity, status in {
        least: 200,
        most: 200,
        least + step: 200,
        least - step: 400,
        most + step: 400,
        least + 1: 400,
    }.items():
        answer = await alice.post("/flow/quote", {"capacity": capacity})
        assert answer.status == status, capacity
    for blocks in offer["lease_duration_blocks"]:
        wish = {"capacity": PER_MILLION, "lease_duration_blocks": blocks}
        quote = (await alice.post("/flow/quote", wish)).json()
        assert quote["service_fee"] == (
            offer["service_fee_base"] + offer["service_fee_ppm"]
        )
        assert quote["source"] in offer["sources"]
        usual = offer["lease_duration_blocks"][0]
        assert quote["rate_bps"] == offer["rate_bps"] * blocks // usual


async def test_a_platform_without_channels_or_nodes_says_so(
    platform: Platform, alice: Caller
) -> None:
    bare = Api(replace(platform, channels=None), alice.api.table.operations)
    found = (
        await Caller(bare, alice.key, alice.organization_id).get("/platform")
    ).json()
    assert found["channels"] is None
    assert found["networks"] == found["versions"] == found["node_sizes"] == []
    limit = platform.settings.requests_per_minute
    assert found["limits"]["requests_per_minute"] == limit
