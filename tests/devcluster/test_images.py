"""Images are made of one program, and equal programs make equal bytes."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

from leyden_workshop.devcluster.images import ensure_lnd, ensure_pause


def unpacked(archive: Path) -> tuple[dict[str, bytes], tarfile.TarFile]:
    with tarfile.open(archive) as whole:
        files = {}
        for each in whole.getmembers():
            content = whole.extractfile(each)
            assert content is not None
            files[each.name] = content.read()
    [manifest] = json.loads(files["manifest.json"])
    [layer] = manifest["Layers"]
    return files, tarfile.open(fileobj=io.BytesIO(files[layer]))


def test_an_lnd_is_at_home_in_its_image_and_is_nobody_else(tmp_path: Path) -> None:
    lnd = tmp_path / "lnd"
    lnd.write_bytes(b"a static program")
    image = ensure_lnd(tmp_path / "cache", lnd, "0.20.2-beta", machine="x86_64")
    assert image.name == "localhost/leyden/lnd:v0.20.2-beta"
    files, layer = unpacked(image.archive)
    [manifest] = json.loads(files["manifest.json"])
    assert manifest["RepoTags"] == [image.name]
    configuration = json.loads(files[manifest["Config"]])
    assert configuration["architecture"] == "amd64"
    assert configuration["config"] == {
        "User": "1000:1000",
        "WorkingDir": "/home/lnd",
        "Entrypoint": ["/bin/lnd"],
        "Env": ["HOME=/home/lnd", "PATH=/bin"],
    }
    content = files[manifest["Layers"][0]]
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert configuration["rootfs"]["diff_ids"] == [digest]
    with layer:
        program = layer.getmember("bin/lnd")
        assert (program.mode, program.uid) == (0o755, 0)
        home = layer.getmember("home/lnd")
        assert (home.isdir(), home.uid, home.gid) == (True, 1000, 1000)
        assert layer.getmember("home").uid == 0


def test_equal_programs_make_equal_bytes(tmp_path: Path) -> None:
    pause = tmp_path / "pause"
    pause.write_bytes(b"pauses")
    made = [
        ensure_pause(tmp_path / name, pause, machine="x86_64").archive
        for name in ("one", "other")
    ]
    assert made[0].read_bytes() == made[1].read_bytes()
    assert made[0].name == made[1].name


def test_another_program_makes_another_archive(tmp_path: Path) -> None:
    for version in ("one", "another"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "pause").write_bytes(version.encode())
    one, another = (
        ensure_pause(tmp_path / "cache", tmp_path / version / "pause", machine="x")
        for version in ("one", "another")
    )
    assert one.digest != another.digest
