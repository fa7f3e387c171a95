"""The registry knows plug-ins like built-in networks, or refuses them with the reason."""

from __future__ import annotations

import re
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from postino.api.views.posts import render_current_post
from postino.config import load_config
from postino.errors import ConfigError, WrongUse
from postino.providers.registry import load_built_in, load_registry
from postino.publishing.post_request import PostRequest
from postino.values.content import Content, ContentOverride
from postino.values.gate import Scope
from postino.values.provider import Credential
from postino.wiring import Postino, describe_unreachable, make_media_url_check
from tests.documents import ROOT, Block, blocks

PAGE = ROOT / "docs" / "extending.md"
[FORUM] = [block.text for block in blocks(PAGE, "python") if block.file and block.file.endswith("/forum.py")]
HERE = "http://127.0.0.1:8790"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a data directory with the plug-in of the docs, under a unique module name."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / f"{tmp_path.name}.py").write_text(FORUM)
    return tmp_path


def postino(folder: Path, **settings: str) -> Postino:
    plugins = {"POSTINO_NETWORKS_PLUGINS": f'["{folder.name}:Forum"]'}
    return Postino(load_config(folder, environment=plugins | settings))


@pytest.mark.parametrize("block", [block for block in blocks(PAGE, "python") if block.file], ids=lambda it: it.file)
def test_plugin_example_is_under_sixty_lines(block: Block) -> None:
    assert block.text.count("\n") < 60


def test_without_plugins_only_built_in_networks_are_registered() -> None:
    assert load_registry([], Path("nowhere")).providers == load_built_in().providers


async def test_plugin_is_registered_everywhere(folder: Path) -> None:
    app = postino(folder)
    assert {*app.networks.providers} == {*load_built_in().providers, "forum"}
    assert app.channel_limits.caps["forum"] == app.config.publishing.cap
    assert "forum" in app.channel_limits.circuits
    [quota] = app.channel_limits.quotas["forum"]
    assert (quota.most, quota.whose, quota.period) == (60, Scope.ACCOUNT, timedelta(hours=1, seconds=5))
    assert app.networks.credentials["forum"] == {"token": Credential("Token (your profile → Access)")}
    async with app:
        account = await app.accounts.add("forum", "ada", {"token": "x"}, base_url=HERE)
        content = Content(body="Hello", overrides={"forum": ContentOverride(body="Hello, forum")})
        [preview] = await app.post_validator.preview(PostRequest(content=content, accounts=(account.id,)))
        assert preview.rendered.parts == ("Hello, forum",)
        long = PostRequest(content=Content(body="a" * 501), accounts=(account.id,))
        [problem] = (await app.post_validator.preview(long))[0].problems
        assert problem.message.startswith(
            "The text is 1 character too long for forum: it has 501, and the maximum is 500"
        )
        opened = await app.gate_control.open_circuit("forum", seconds=60, reason="maintenance")
        assert opened.service == "forum"


async def test_content_stays_readable_after_its_plugin_is_removed(folder: Path) -> None:
    async with postino(folder) as app:
        account = await app.accounts.add("bluesky", "ada.example.org", {"password": "x"})
        content = Content(body="Hello", overrides={"forum": ContentOverride(body="Hello, forum")})
        [written] = await app.posts.schedule(PostRequest(content=content, accounts=(account.id,)))
    async with Postino(load_config(folder, environment={})) as app:
        assert (await render_current_post(app, await app.posts.get(written.post.job.id)))["text"] == "Hello"
        with pytest.raises(WrongUse, match="overrides: network 'forum' does not exist"):
            await app.post_validator.preview(PostRequest(content=content, accounts=(account.id,)))


async def test_account_needs_a_base_url_unless_the_network_has_a_default(folder: Path) -> None:
    async with postino(folder) as app:
        with pytest.raises(WrongUse, match="base_url: give the server of ada"):
            await app.accounts.add("forum", "ada", {"token": "x"})
    module = folder / f"{folder.name}_2.py"
    module.write_text(FORUM.replace('name = "forum"', 'name = "forum"\n    default_base_url = "https://forum.example"'))
    known = load_registry([f"{module.stem}:Forum"], folder)
    assert known.default_base_urls["forum"] == "https://forum.example"


@pytest.mark.parametrize(
    ("target", "old", "new", "message"),
    [
        ("{0}", "", "", "'{0}' is not of the form module:attr, for example forum:Forum."),
        ("{0}.py:Forum", "", "", "'{0}.py:Forum' names a file; name the module, without .py: {0}:Forum."),
        ("{0}x:Forum", "", "", "module {0}x does not exist in {1} or in Python's path."),
        ("{0}:Board", "", "", "{0} has no Board."),
        ("{0}:Forum", "class Forum", "class Forum(", "importing {0} failed at .*{0}.py line [0-9]+: SyntaxError: .*"),
        ("{0}:Forum", "async def publish", "async def post", "it has no method publish."),
        ("{0}:Forum", "def classify", "def judge", "it has no method classify."),
        ("{0}:Forum", "    promise =", "    promised =", "it has no promise."),
        ("{0}:Forum", "timedelta(seconds=10)", "10", "its timeout must be a timedelta, not 10."),
        ("{0}:Forum", "    credentials =", "    needed =", "it has no credentials."),
        ("{0}:Forum", 'Credential("Token (your profile → Access)")', "1", "its credentials must be Credential .*1."),
        ("{0}:Forum", '"forum"', '"bluesky"', "the name 'bluesky' is taken. Give it another one."),
        ("{0}:Forum", '"forum"', '"discord"', "the name 'discord' is taken. Give it another one."),
        ("{0}:Forum", '"forum"', '"My forum"', "its name must be small letters, digits and _, at most 40, not .*"),
        ("{0}:Forum", '"most": 500', '"mots": 500', "its limits or quotas cannot be read: .*mots.*"),
        ("{0}:Forum", '"most": 60', '"most": 0', "its limits or quotas cannot be read: posts: most must be .*"),
        ("{0}:Forum", "class Forum:", "class Forum:\n    def __init__(self, a): ...\n", "it cannot be made w.*"),
    ],
)
def test_wrong_plugin_is_refused_with_the_reason(folder: Path, target: str, old: str, new: str, message: str) -> None:
    assert old in FORUM
    (folder / f"{folder.name}.py").write_text(FORUM.replace(old, new, 1))
    named = target.format(folder.name)
    pattern = message.replace("{0}", re.escape(folder.name)).replace("{1}", re.escape(str(folder)))
    with pytest.raises(ConfigError) as refusal:
        load_registry([named], folder)
    assert refusal.value.field == "networks.plugins"
    assert re.fullmatch(f"networks.plugins: {re.escape(named)}: {pattern}", str(refusal.value)), refusal.value


def test_duplicate_plugin_name_is_refused(folder: Path) -> None:
    (folder / f"{folder.name}_3.py").write_text(FORUM)
    with pytest.raises(ConfigError, match="the name 'forum' is taken"):
        load_registry([f"{folder.name}:Forum", f"{folder.name}_3:Forum"], folder)


def test_private_origin_setting_allows_accounts_only(tmp_path: Path) -> None:
    plain, allowed = (
        load_config(tmp_path, environment={}),
        load_config(tmp_path, environment={"POSTINO_NETWORKS_ALLOWED_PRIVATE_ORIGINS": f'["{HERE}"]'}),
    )
    assert describe_unreachable(plain, HERE) is not None
    assert describe_unreachable(allowed, HERE) is None
    assert describe_unreachable(allowed, f"{HERE}/any/path") is None
    for other in ("http://127.0.0.1:8791", "https://127.0.0.1:8790", "http://localhost:8790", "http://169.254.169.254"):
        assert describe_unreachable(allowed, other) is not None
    assert (
        make_media_url_check(allowed)(f"{HERE}/picture.jpg") is not None
    )  # a picture by anybody's address stays outside


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("PLUGINS", "forum:Forum", "must be a list, not 'forum:Forum'"),
        ("PLUGINS", "[1]", r"networks.plugins must be a list of texts, not \[1\]"),
        ("ALLOWED_PRIVATE_ORIGINS", '["10.0.0.7"]', "'10.0.0.7' is not an origin such as"),
        (
            "ALLOWED_PRIVATE_ORIGINS",
            '["http://10.0.0.7/path"]',
            "is not an origin such as http://10.0.0.7:8080",
        ),
        ("ALLOWED_PRIVATE_ORIGINS", '["http://ada@10.0.0.7"]', "is not an origin such as"),
        ("ALLOWED_PRIVATE_ORIGINS", '["http://*"]', "is not an origin such as"),
    ],
)
def test_invalid_network_setting_is_refused(tmp_path: Path, setting: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(tmp_path, environment={f"POSTINO_NETWORKS_{setting}": value})
