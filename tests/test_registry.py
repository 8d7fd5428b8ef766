"""The registry, and the registry of domains built on it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hips import domains
from hips.domains import parse_quality
from hips.errors import ConfigError, HipsError, UnknownNameError
from hips.registry import Registry


def fruits() -> Registry[str]:
    registry: Registry[str] = Registry("fruit")
    registry.register("apple")("red")
    registry.register("pear")("green")
    return registry


def test_entries_are_found_by_name_in_order() -> None:
    registry = fruits()
    assert registry.get("pear") == "green"
    assert registry.names() == ("apple", "pear")
    assert list(registry) == ["apple", "pear"]
    assert "apple" in registry
    assert "plum" not in registry


def test_unknown_names_list_what_exists_and_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        fruits().get("aple")
    expected = "Unknown fruit 'aple'. Available: apple, pear. Did you mean 'apple'?"
    assert str(caught.value) == expected
    with pytest.raises(UnknownNameError, match="Available: none"):
        Registry("fruit").get("aple")


def test_a_name_is_taken_once_but_the_same_entry_may_come_again() -> None:
    registry = fruits()
    registry.register("apple")("red")
    with pytest.raises(ConfigError, match="already registered"):
        registry.register("apple")("yellow")


def test_a_lookup_waits_for_a_load_in_another_thread() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def modules() -> tuple[str, ...]:
        begun.set()
        go_on.wait(300)
        registry.register("plum")("blue")
        return ()

    registry: Registry[str] = Registry("fruit", modules)
    with ThreadPoolExecutor(2) as threads:
        loading = threads.submit(registry.load)
        begun.wait(300)
        found = threads.submit(registry.get, "plum")
        go_on.set()
        loading.result(300)
        assert found.result(300) == "blue"


def test_domains_are_created_with_variants_and_parameters() -> None:
    ood = domains.create("box_world", variant="ood")
    assert ood.parameters()["distractors"] == 4
    mixed = domains.create("box_world", variant="ood", distractors=2, size=14)
    assert (mixed.parameters()["distractors"], mixed.spec.height) == (2, 16)
    assert domains.create("box_world", variant="default") == domains.create("box_world")


@pytest.mark.parametrize(
    ("name", "variant", "parameters", "words"),
    [
        ("box_wrold", None, {}, "Did you mean 'box_world'"),
        ("box_world", "hard", {}, "no variant 'hard'. Available: default, ood"),
        ("box_world", None, {"height": 3}, "no parameter 'height'. Available: size"),
    ],
)
def test_bad_requests_say_what_exists(
    name: str, variant: str | None, parameters: dict[str, int], words: str
) -> None:
    with pytest.raises(HipsError, match=words):
        domains.create(name, variant, **parameters)


@pytest.mark.parametrize(("text", "value"), [("paper", 0.0), ("best", 1.0), ("0.25", 0.25)])
def test_qualities(text: str, value: float) -> None:
    assert parse_quality(text) == value


@pytest.mark.parametrize("text", ["great", "-1", "1.5", "nan", ""])
def test_bad_qualities(text: str) -> None:
    with pytest.raises(ConfigError, match="paper, mixed, good, best"):
        parse_quality(text)
