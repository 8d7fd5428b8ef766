"""The page in a real browser, used as a person would use it."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hips import domains, plugins
from hips.web.limits import Limits

if TYPE_CHECKING:
    from tests.web.conftest import Serve

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
Page = playwright.Page
expect = playwright.expect
expect.set_options(timeout=120_000)
MEASURED = """() => [...window.explorer.chosen.tree.nodes.values()]
  .map(({ number, rows, below, size, hidden }) => [number, rows, below, size, hidden].join())"""
MEASURED_ANEW = (
    MEASURED.replace(
        "() => ",
        "() => (window.explorer.view.layout.update(window.explorer.chosen.tree.nodes.values()), ",
        1,
    )
    + ")"
)
FIRST_OPEN = "() => window.explorer.chosen.tree.waiting.first(50).map(({ number }) => number)"
FIRST_SORTED = """() => [...window.explorer.chosen.tree.nodes.values()]
  .filter((node) => node.order === null && !node.goal)
  .sort((a, b) => a.tier - b.tier || a.key - b.key || a.number - b.number)
  .slice(0, 50).map(({ number }) => number)"""
XSB = "#######\n#.$@  #\n#     #\n#######\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser: playwright.Browser, address: str) -> Iterator[Page]:
    """The page, ready; any error on its console fails the test."""
    yield from opened(browser, address)


def opened(browser: playwright.Browser, url: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, accept_downloads=True)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "console",
        lambda said: faults.append(said.text) if said.type in {"error", "warning"} else None,
    )
    page.on("response", lambda said: said.status >= 400 and faults.append(refused(said)))
    page.goto(url)
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    yield page
    context.close()
    assert not faults


def refused(response: playwright.Response) -> str:
    return f"{response.url} {response.request.post_data}"


def choose(page: Page, domain: str) -> None:
    page.select_option("#domain", domain)
    settle(page)


def choose_endless(page: Page) -> None:
    """A search that is still running when the test has clicked on."""
    choose(page, "sliding_tiles")
    page.select_option(".lane select", "low_level")
    page.fill("#max-expansions", "1000000")


def settle(page: Page) -> None:
    """Waits until the board shows what was asked for."""
    page.evaluate("() => window.explorer.problems.settled")


def finish(page: Page, runs: int = 1) -> None:
    """Waits for the end of searches."""
    page.locator("#runs tbody tr").nth(runs - 1).wait_for(timeout=180_000)


def test_watch_a_sampled_problem(page: Page) -> None:
    choose(page, "sokoban")
    page.fill("#seed", "4")
    page.click("#sample")
    page.click("#start")
    finish(page)
    assert "solved" in page.inner_text("#runs")
    page.focus("#tree")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#node")).to_contain_text("reached by")
    expect(page.locator("#node")).to_contain_text("Rejected subgoals")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#node")).to_contain_text("π(n | parent)")
    page.keyboard.press("Space")
    page.keyboard.press("+")
    page.mouse.move(700, 500)
    page.mouse.wheel(0, -300)
    page.check("#show-open")
    page.click("#fit")
    page.locator("#frontier tbody tr").first.click()
    expect(page.locator("#node")).to_contain_text("not yet")
    # One stop of the Tab key for the whole table; arrows walk its rows.
    assert page.locator("#frontier tbody tr[tabindex='0']").count() == 1
    page.focus("#frontier tbody tr")
    page.keyboard.press("ArrowDown")
    second = page.locator("#frontier tbody tr").nth(1)
    expect(second).to_be_focused()
    expect(second).to_have_attribute("tabindex", "0")
    assert page.locator("#frontier tbody tr[tabindex='0']").count() == 1
    page.keyboard.press("End")
    page.keyboard.press("Home")
    expect(page.locator("#frontier tbody tr:not([hidden])").first).to_be_focused()


def test_old_results_never_pass_for_new_ones(page: Page) -> None:
    choose(page, "sliding_tiles")
    page.click("#start")
    finish(page)
    page.click("#sample")
    expect(page.locator("#progress")).to_contain_text("belong to an earlier board")
    choose(page, "tsp")
    expect(page.locator("#progress")).to_be_empty()
    expect(page.locator("#runs-box")).to_be_hidden()
    expect(page.locator("#player")).to_be_hidden()
    assert page.evaluate("() => window.explorer.view.layout.root") is None


def test_step_pause_resume_and_stop(page: Page) -> None:
    choose_endless(page)
    page.click("#step")
    facts = page.locator(".lane .facts")
    expect(facts).to_contain_text("paused: 1 expansion,", timeout=120_000)
    page.click("#step10")
    expect(facts).to_contain_text("paused: 11 expansions")
    page.click("#pause")
    expect(page.locator("#pause")).to_have_text("Pause")
    page.click("#pause")
    expect(facts).to_contain_text("paused")
    page.click("#stop")
    finish(page)
    assert "stopped" in page.inner_text("#runs")


def test_play_undo_and_go_on_from_there(page: Page) -> None:
    choose(page, "sliding_tiles")
    page.focus("#board")
    for key in ("ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
        settle(page)
    played = int(page.inner_text("#moves").split()[0])
    assert played >= 2
    page.keyboard.press("z")
    word = "move" if played == 2 else "moves"
    expect(page.locator("#moves")).to_have_text(f"{played - 1} {word}")
    page.click("#go-on")
    finish(page)
    assert "solved" in page.inner_text("#runs")


def test_paste_draw_and_solve_a_level(page: Page) -> None:
    choose(page, "sokoban")
    page.click("#mode-paste")
    page.fill("#text", XSB + "\n; two\n" + XSB)
    page.click("#parse")
    expect(page.locator("#level-field")).to_be_visible()
    page.click("#mode-draw")
    expect(page.locator("#verdict")).to_have_text("A valid start.")
    board = page.locator("#board")
    # A small level is read with walls around it, at the size of the model.
    expect(board).to_have_attribute("aria-label", re.compile("##.\\$@  ###"))
    settle(page)

    def paint(symbol: str, row: int, column: int) -> None:
        page.get_by_role("radio", name=symbol, exact=True).click()
        board.scroll_into_view_if_needed()
        box = board.bounding_box()
        assert box is not None
        cell = box["width"] / 10
        board.click(position={"x": (column + 0.5) * cell, "y": (row + 0.5) * cell})

    paint("floor", 4, 4)  # over the player
    expect(page.locator("#verdict")).to_contain_text("Not a valid start")
    page.click("#start")
    expect(page.locator("#message")).to_contain_text("not a valid start")
    paint("player", 5, 5)
    expect(page.locator("#verdict")).to_have_text("A valid start.")
    page.click("#start")
    finish(page)
    assert "solved" in page.inner_text("#runs")


def test_compare_methods_and_sweep_epsilon(page: Page) -> None:
    choose(page, "box_world")
    page.click("#add-lane")
    page.click("#add-lane")
    expect(page.locator("#add-lane")).to_be_disabled()
    page.click("#start")
    finish(page, 3)
    assert len(set(page.locator("#runs tbody tr td:first-child").all_inner_texts())) == 3
    page.locator(".lane button", has_text="Show tree").nth(1).click()
    page.locator(".lane button", has_text="Show tree").nth(0).click()
    page.click("#sweep")
    finish(page, 8)
    assert len(set(page.locator("#runs tbody tr td:nth-child(2)").all_inner_texts())) >= 5
    slider = page.locator(".lane input[type=range]").first
    slider.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    finish(page, 9)
    expect(page.locator(".lane .meaning").first).to_contain_text("wait until no subgoal is left")


def test_one_level_shows_why_epsilon_matters(page: Page) -> None:
    """With models on which it no longer does, the domain's example needs another level."""
    choose(page, "tsp")
    page.locator(".welcome .contrast button").click()
    finish(page, 2)
    outcomes = {
        row.locator("td").first.inner_text(): row.inner_text()
        for row in page.locator("#runs tbody tr").all()
    }
    assert "gave up, no proof" in outcomes["HIPS"]
    assert "solved" in outcomes["HIPS-ε"]
    assert page.evaluate("() => window.explorer.chosen.result.action_expansions") > 0
    example = domains.create("sokoban").example
    assert example is not None
    assert example.text in (ROOT / "docs/tutorials/read-a-search.md").read_text()


def test_selected_nodes_stay_where_they_are(page: Page) -> None:
    choose(page, "sokoban")
    page.click("#start")
    finish(page)
    place = """() => { const { view, layout } = window.explorer.view;
      const { x, y } = layout.position(layout.root);
      return [view.x + x * view.across, view.y + y * view.along]; }"""
    before = page.evaluate(place)
    page.focus("#tree")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(place) == pytest.approx(before)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#node")).to_contain_text("as number")


def test_scrub_and_download_the_plan(page: Page) -> None:
    choose(page, "sokoban")
    page.click("#start")
    finish(page)
    page.locator("#scrub").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#step-label")).to_contain_text("1 of")
    page.keyboard.press("End")
    page.click("#play")
    page.click("#play")
    names = page.locator("#downloads button").all_inner_texts()
    assert names == ["GIF", "JSON", "LURD"]
    for name in names:
        with page.expect_download() as found:
            page.locator("#downloads button", has_text=name).click()
        content = Path(found.value.path()).read_bytes()
        if name == "GIF":
            assert content.startswith(b"GIF89a")
        elif name == "JSON":
            assert json.loads(content)["outcome"] == "SOLVED"
        else:
            assert set(content.decode().strip()) <= set("lurdLURD")


def test_a_link_holds_problem_and_settings(page: Page, browser: playwright.Browser) -> None:
    choose(page, "tsp")
    page.click("#add-lane")
    page.click("#share")
    link = page.input_value("#link")
    label = page.get_attribute("#board", "aria-label")
    for other in opened(browser, link):
        assert other.input_value("#domain") == "tsp"
        assert other.get_attribute("#board", "aria-label") == label
        assert other.locator(".lane").count() == 2


def test_a_damaged_link_opens_the_usual_page(browser: playwright.Browser, address: str) -> None:
    for page in opened(browser, f"{address}#nonsense"):
        assert page.locator("#verdict").inner_text() == ""


def test_a_closed_tab_ends_its_search(page: Page, browser: playwright.Browser) -> None:
    choose_endless(page)
    page.click("#start")
    expect(page.locator(".lane .facts")).to_contain_text("running", timeout=120_000)
    status = page.context.request
    assert status.get(page.url + "api/status").json()["open"] == 1
    other = page.context.new_page()
    address = page.url
    page.close()
    for _ in range(20):
        if status.get(address + "api/status").json()["open"] == 0:
            break
        other.wait_for_timeout(50)
    assert status.get(address + "api/status").json()["open"] == 0


def test_results_folder(browser: playwright.Browser, serve: Serve, tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="the extra `bench` is not installed")
    with gzip.open(ROOT / "docs" / "results" / "runs.jsonl.gz", "rb") as packed:
        (tmp_path / "runs.jsonl").write_bytes(b"".join(itertools.islice(packed, 400)))
    for page in opened(browser, serve(results=tmp_path)):
        page.click("#view-results")
        page.locator("#experiment-body table").first.wait_for(timeout=120_000)
        assert page.locator("#experiment-body canvas").count() > 0
        page.locator("#run-list tbody tr").first.wait_for(timeout=60_000)
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
        page.set_viewport_size({"width": 1280, "height": 900})
        page.check("#unsolved")
        page.uncheck("#unsolved")
        page.locator("#run-list tbody tr").first.click()
        expect(page.locator("#explore")).to_be_visible()
        finish(page)


def test_a_plugin_domain_works(browser: playwright.Browser, serve: Serve) -> None:
    plugins.load(ROOT / "examples" / "lights_out.py")
    for page in opened(browser, serve()):
        choose(page, "lights_out")
        page.click("#start")
        finish(page)
        page.click("#mode-draw")
        page.locator("#palette button").nth(1).wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_small_screens_and_themes(page: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": 360, "height": 740})
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    assert page.get_attribute("html", "data-theme") == theme
    # Every control has a name for people who do not see it.
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, textarea, canvas")]
        .filter(e => e.checkVisibility() && !e.textContent.trim() && !e.labels?.length
          && !e.getAttribute("aria-label") && e.getAttribute("aria-hidden") !== "true"
          && !e.title).map(e => e.outerHTML)"""
    )
    assert unnamed == []


def test_thousands_of_nodes_zoom_and_collapse(browser: playwright.Browser, serve: Serve) -> None:
    for page in opened(browser, serve(Limits(nodes=20_000))):
        choose(page, "sliding_tiles")
        page.select_option(".lane select", "low_level")
        page.fill("#max-expansions", "4000")
        page.click("#start")
        finish(page)
        page.wait_for_function("() => window.explorer.view.layout.root.size === 4000")
        # What grew round by round is what one look at the whole tree gives.
        assert page.evaluate(MEASURED) == page.evaluate(MEASURED_ANEW)
        assert page.evaluate(FIRST_OPEN) == page.evaluate(FIRST_SORTED)
        assert page.evaluate("() => window.explorer.view.inSight.length") < 4000
        page.locator("#tree").hover()
        page.mouse.wheel(0, -300)
        page.click("#fit")
        page.focus("#tree")
        page.keyboard.press("Home")
        page.keyboard.press("Space")
        page.wait_for_function("() => window.explorer.view.layout.root.size === 1")
