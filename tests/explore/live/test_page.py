"""The page as a person uses it, in headless Chromium."""

import csv
import json
import shutil

import pytest
from benchmarks.browsing import Page, Program
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By

from coterie.cli import run as command_line


@pytest.fixture
def run_folder(place, tmp_path):
    """A copy of the run that the test may write to."""
    shutil.copytree(place / "run", tmp_path / "run", ignore=shutil.ignore_patterns("explore"))
    return tmp_path / "run"


@pytest.fixture
def start(run_folder, place):
    """Return a function that starts the program on the run."""
    running = []

    def make(*arguments):
        running.append(Program(run_folder, "--metadata", place / "metadata.csv", *arguments))
        return running[-1]

    yield make
    for program in running:
        program.kill()


@pytest.fixture
def browse(tmp_path):
    """Return a function that opens a browser."""
    pages = []

    def make(**options):
        pages.append(Page(tmp_path / "downloads", **options))
        return pages[-1]

    (tmp_path / "downloads").mkdir()
    yield make
    for page in pages:
        page.driver.quit()


@pytest.fixture
def page(start, browse):
    browser = browse()
    browser.open(start().link)
    return browser


@pytest.fixture(scope="module")
def shown(place, tmp_path_factory):
    """The program on a run about which no test gives an answer."""
    folder = tmp_path_factory.mktemp("shown") / "run"
    shutil.copytree(place / "run", folder, ignore=shutil.ignore_patterns("explore"))
    program = Program(folder, "--metadata", place / "metadata.csv")
    yield program
    program.kill()


@pytest.fixture
def shown_page(shown, browse):
    browser = browse()
    browser.open(shown.another_link())
    return browser


def lasso(page):
    """Draw around the left half of the map."""
    box = page.all("#map-plot")[0]
    width, height = box.size["width"], box.size["height"]
    moves = ActionChains(page.driver, duration=50).move_to_element_with_offset(
        box, 2 - width // 2, 2 - height // 2
    )
    moves.click_and_hold()
    for x, y in ((width // 2, 0), (0, height - 5), (-width // 2 + 2, 0), (0, -height + 12)):
        moves.move_by_offset(x, y)
    moves.release().perform()


def test_open_colour_select_label_undo_reload_export_and_read(page, kind):
    # open
    assert len(page.colours()) == 240
    assert "token" not in page.driver.current_url
    clusters = page.state()["clusters"]
    assert len(page.all("[data-cluster]")) == len(clusters) == 4

    # colour
    page.choose("#colouring", "column-1")
    page.until(lambda: page.colours()[7] == 21)
    page.choose("#colouring", "cluster")
    page.until(lambda: max(page.colours()) == 3)

    # select by lasso, and label
    lasso(page)
    page.until(lambda: page.all("#label"))
    chosen = int(page.all("#panel h2")[0].text.split()[0])
    assert 10 < chosen < 230
    page.choose("#target", "new")
    state = page.after(lambda: page.press("#label"))
    new = next(cluster for cluster in state["clusters"] if cluster["number"] == 4)
    assert new["size"] >= chosen
    assert "moved" in page.status
    page.until(lambda: max(page.colours()) == 4)

    # undo by the button, redo and undo by keys
    assert len(page.after(lambda: page.press("#undo"))["clusters"]) == 4
    keys = ActionChains(page.driver)
    redo = (
        keys.key_down(Keys.CONTROL)
        .key_down(Keys.SHIFT)
        .send_keys("z")
        .key_up(Keys.SHIFT)
        .key_up(Keys.CONTROL)
    )
    assert len(page.after(redo.perform)["clusters"]) == 5
    undo = ActionChains(page.driver).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL)
    assert len(page.after(undo.perform)["clusters"]) == 4

    # answer a question of the page
    page.press("#tab-questions")
    page.until(lambda: page.all(".question"))
    assert len(page.all(".question")) == 1
    first = page.all(".question")[0].get_attribute("data-row")
    ActionChains(page.driver).send_keys("n").perform()
    page.until(lambda: page.all(".question") and page.all(".question")[0].get_attribute("data-row") != first)
    assert page.all(".between tbody tr")
    row = int(page.all(".question")[0].get_attribute("data-row"))
    to = int(page.all(".question [data-to]")[1].get_attribute("data-to"))
    state = page.after(ActionChains(page.driver).send_keys("2").perform)
    assert state["history"][-1]["words"] == f"Row {row} belongs to cluster {to}"

    # a reload shows the same
    page.driver.refresh()
    page.settled()
    assert page.state()["history"] == state["history"]

    # export, and read it
    page.press("#tab-export")
    page.press("#export-labels-csv")
    with page.downloaded("labels.csv").open(newline="") as handle:
        lines = list(csv.DictReader(handle))
    assert len(lines) == 240
    assert lines[row]["cluster"] == str(to)
    assert [int(line["row"]) for line in lines if line["given"] == "1"] == [row]
    page.press("#export-report")
    assert page.downloaded("report.html").read_text().startswith("<!DOCTYPE html>")
    assert page.complaints() == []


def test_a_cluster_is_named_merged_and_split(page):
    page.press("[data-cluster='2']")
    page.until(lambda: page.all(".features"))
    assert page.all("#panel .rows [data-row]")
    page.all("#name")[0].send_keys("<b>Tall</b> ones")
    state = page.after(lambda: page.press("#panel form button[type=submit]"))
    assert state["clusters"][2]["title"] == "2: <b>Tall</b> ones"
    page.until(lambda: "<b>Tall</b> ones" in page.all("#panel h2")[0].text)
    page.choose("#panel select[aria-label='Cluster to merge into or to compare with']", "1")
    assert [one["number"] for one in page.after(lambda: page.press("#merge"))["clusters"]] == [0, 1, 3]
    page.press("[data-cluster='1']")
    before = page.state()["version"]
    page.press("#split")
    page.until(lambda: page.all("#splitting .features"))
    page.press("#leave")
    assert not page.all("#splitting .features")
    assert page.state()["version"] == before
    page.press("#split")
    assert [one["number"] for one in page.after(lambda: page.press("#split-now"))["clusters"]] == [0, 1, 3, 4]
    page.press("#tab-history")
    page.until(lambda: len(page.all(".history li")) == 3)
    assert page.complaints() == []


def test_rows_are_found_selected_and_linked_without_a_mouse(page):
    """Everything here is done with keys alone."""
    page.all("#tab-clusters")[0].send_keys(Keys.ARROW_RIGHT)
    page.until(lambda: page.all("#words"))
    for row in ("6", "11"):
        words = page.all("#words")[0]
        words.clear()
        words.send_keys(row + Keys.ENTER)
        page.until(lambda row=row: page.all(f"#panel [data-row='{row}']"))
        found = page.all(f"#panel [data-row='{row}']")[0]
        found.send_keys(Keys.ENTER)
        page.until(lambda found=found: found.get_attribute("aria-pressed") == "true")
        assert page.driver.switch_to.active_element == found
    page.until(lambda: page.all("#panel h2")[0].text == "2 selected rows")
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    page.until(lambda: page.all("#panel h2")[0].text == "0 selected rows")
    for row in (6, 11):
        page.all("#words")[0].clear()
        page.all("#words")[0].send_keys(f"{row}" + Keys.ENTER)
        page.until(lambda row=row: page.all(f".results [data-row='{row}']"))
        page.all(f".results [data-row='{row}']")[0].send_keys(Keys.ENTER)
    page.until(lambda: page.all("#panel h2")[0].text == "2 selected rows")
    state = page.after(lambda: page.all("#together")[0].send_keys(Keys.ENTER))
    assert state["history"][-1]["words"] == "Rows 6, 11 belong to one cluster"
    found = page.run("return fetch('/api/rows?rows=6,11').then((answer) => answer.json())")
    assert found[0]["cluster"] == found[1]["cluster"]


def dot_at(page, place):
    """Return where a dot of the map is on the screen."""
    return page.run(
        "return document.getElementById('map-plot').map.place(arguments[0]).map(Math.round)", place
    )


def point_at(page, place):
    """Move the pointer to a dot of the map."""
    actions = ActionBuilder(page.driver)
    actions.pointer_action.move_to_location(*dot_at(page, place))
    actions.perform()


def tap(page, place):
    """Touch a dot of the map, and wait for the mouse that the browser makes of it."""
    page.run(
        "window.echoed = false;"
        "document.addEventListener('click', (event) => { window.echoed ||= event.isTrusted; }, true)"
    )
    x, y = dot_at(page, place)
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    page.until(lambda: page.run("return window.echoed"))


def test_a_cleared_selection_leaves_no_trace_on_the_map_and_the_zoom_stays(shown_page):
    page = shown_page
    scale = "return document.getElementById('map-plot').map.scale()"
    before = page.run(scale)
    page.press("#zoom-in")
    zoomed = page.run(scale)
    assert zoomed > before
    lasso(page)
    page.until(lambda: page.all("#clear"))
    assert 0 < len(picked_out(page)) < 240
    page.press("#clear")
    page.until(lambda: page.status == "Nothing is selected.")
    assert picked_out(page) is None
    assert page.run(scale) == zoomed


def test_a_tap_selects_one_row(shown, browse):
    page = browse(width=390, height=844)
    page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    page.open(shown.another_link())
    tap(page, 5)
    page.until(lambda: page.all("#panel h2")[0].text == "1 selected row")
    assert page.status == "1 row selected."
    assert not page.all("#tip")[0].is_displayed()


def picked_out(page):
    """Return the places of the dots that are not pale; None where none is."""
    return page.run("return document.getElementById('map-plot').map.picked")


def test_texts_of_the_data_stay_text(shown_page, evil):
    page = shown_page
    page.press("[data-cluster='0']")
    page.until(lambda: page.all(".features"))
    assert evil in [name.get_attribute("title") for name in page.all(".features .name")]
    page.choose("#colouring", "column-2")
    page.until(lambda: any(evil in chip.text for chip in page.all("#legend button")))
    page.press("#tab-selection")
    page.all("#words")[0].send_keys("thing 239" + Keys.ENTER)
    page.until(lambda: any(evil in small.text for small in page.all("#panel small")))
    point_at(page, 5)
    page.until(lambda: evil in page.all("#tip")[0].text)
    assert page.run("return window.hurt") is None
    assert page.all("main img[src=x]") == page.all("#tip img[src=x]") == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_every_part_fits_the_screen_in_light_and_in_dark(shown, browse, width, dark):
    page = browse(width=width, height=844, dark=dark)
    page.open(shown.another_link())
    for tab in ("clusters", "selection", "questions", "history", "export"):
        page.press(f"#tab-{tab}")
        assert page.run("return document.documentElement.scrollWidth") <= width
    page.press("#tab-clusters")
    page.press("[data-cluster='0']")
    page.until(lambda: page.all(".features"))
    assert page.run("return document.documentElement.scrollWidth") <= width
    ink, paper = page.run(
        "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
    )
    lightness = [sum(int(part) for part in colour.strip("rgba()").split(",")[:3]) for colour in (ink, paper)]
    assert abs(lightness[0] - lightness[1]) > 450
    assert (lightness[0] > lightness[1]) == dark


def test_every_control_has_a_name(shown_page):
    page = shown_page
    page.press("[data-cluster='0']")
    page.until(lambda: page.all(".features"))
    for element in page.driver.find_elements(
        By.CSS_SELECTOR, "button, select, input, a, [role=img], [role=group]"
    ):
        assert element.accessible_name or not element.is_displayed(), element.get_attribute("outerHTML")


def test_groups_picked_out_and_what_moved_are_selected_without_a_mouse(page):
    page.choose("#colouring", "column-0")
    page.until(lambda: len(page.all("#legend button")) == 3)
    page.all("#legend button")[1].send_keys(Keys.ENTER)
    page.until(lambda: page.all("#select-picked"))
    assert page.driver.switch_to.active_element.text == "maker 1"
    assert page.all("#select-picked")[0].text == "Select these 80 rows"
    page.all("#select-picked")[0].send_keys(Keys.ENTER)
    page.until(lambda: page.all("#panel h2")[0].text == "80 selected rows")
    assert page.status == "80 rows selected."
    page.choose("#target", "0")
    page.after(lambda: page.all("#label")[0].send_keys(Keys.ENTER))
    page.until(lambda: page.all("#select-moved"))
    assert page.all("#tab-selection")[0].text == "Rows"
    page.all("#select-moved")[0].send_keys(Keys.ENTER)
    assert page.all("#panel h2")[0].text == f"{len(picked_out(page))} selected rows"


def test_what_was_asked_for_last_is_picked_out_on_the_map(page):
    sizes = {cluster["number"]: cluster["size"] for cluster in page.state()["clusters"]}
    page.press("[data-cluster='2']")
    page.until(lambda: page.all("#panel [data-row]"))
    page.press("#panel [data-row]")
    page.until(lambda: len(picked_out(page)) == 1)
    page.press("#show")
    page.until(lambda: len(picked_out(page)) == sizes[2])
    assert page.all("#legend [aria-pressed=true]")[0].text.startswith("2: ")
    page.press("#panel [data-row]:not([aria-pressed=true])")
    page.until(lambda: len(picked_out(page)) == 2)
    assert not page.all("#legend [aria-pressed=true]")
    page.press("#show")
    page.until(lambda: len(picked_out(page)) == sizes[2])
    page.choose("#panel select[aria-label='Cluster to merge into or to compare with']", "1")
    page.after(lambda: page.press("#merge"))
    assert not page.all("#legend [aria-pressed=true]")


def test_a_cluster_is_shown_on_the_map_of_a_narrow_screen(shown, browse):
    page = browse(width=390, height=844)
    page.open(shown.another_link())
    page.press("[data-cluster='0']")
    page.until(lambda: page.all(".features"))
    page.press("#show")
    page.until(lambda: picked_out(page))
    top, bottom, said = page.run(
        "const box = (id) => document.getElementById(id).getBoundingClientRect();"
        "return [box('map-plot').top, box('map-plot').bottom, box('status').bottom]"
    )
    assert said <= top < bottom <= 844


def test_a_tip_goes_with_the_pointer_and_with_a_click(shown_page):
    page = shown_page
    late = "const asked = window.fetch; window.fetch = async (...how) => { await new Promise("
    late += "(done) => { setTimeout(done, 500); }); window.late = (window.late || 0) + 1; return asked(...how); };"
    page.run(late)
    point_at(page, 5)
    page.run("document.getElementById('map-plot').dispatchEvent(new Event('pointerleave'))")
    page.until(lambda: page.run("return window.late") == 1)
    assert not page.all("#tip")[0].is_displayed()
    point_at(page, 60)
    page.until(lambda: page.all("#tip")[0].is_displayed())
    ActionChains(page.driver).click().perform()
    page.until(lambda: page.status == "1 row selected.")
    assert not page.all("#tip")[0].is_displayed()


def test_keys_stay_where_they_were_and_typing_is_not_lost(page):
    page.all("[data-cluster='2']")[0].send_keys(Keys.ENTER)
    page.until(lambda: page.all("#name"))
    page.all("#name")[0].send_keys("tall" + Keys.ENTER)
    page.until(lambda: page.status == "Cluster 2 is called tall.")
    page.until(lambda: page.driver.switch_to.active_element.get_attribute("id") == "name")
    page.all("#back")[0].send_keys(Keys.ENTER)
    page.until(lambda: page.driver.switch_to.active_element.get_attribute("data-cluster") == "2")
    page.all("#tab-clusters")[0].send_keys(Keys.END)
    page.until(lambda: page.all("#export-answers"))
    assert page.driver.switch_to.active_element.get_attribute("id") == "tab-export"


def test_an_answer_survives_the_death_of_the_program(start, browse, run_folder):
    first, page = start(), browse()
    page.open(first.link)
    page.press("#tab-questions")
    state = page.after(lambda: page.press(".question [data-to] + [data-to]"))
    first.kill()
    page.press("#undo")
    page.until(lambda: "does not answer" in page.status)
    (line,) = (run_folder / "explore" / "answers.jsonl").read_text().splitlines()
    assert json.loads(line)["answer"]["kind"] == "label"
    page.open(start().link)
    again = page.state()
    assert again["history"] == state["history"]
    assert again["clusters"] == state["clusters"]


def test_an_answer_of_a_tab_left_behind_is_not_taken_and_the_tab_shows_what_is_now(start, browse):
    program = start()
    first, second = browse(), browse()
    first.open(program.link)
    second.open(program.another_link())
    for page, name in ((first, "mine"), (second, "yours")):
        page.press("[data-cluster='2']")
        page.until(lambda page=page: page.all("#name"))
        page.all("#name")[0].send_keys(name)
    first.after(lambda: first.press("#panel form button[type=submit]"))
    second.press("#panel form button[type=submit]")
    second.until(lambda: second.status.startswith("Another tab has given an answer since"))
    assert second.state()["clusters"][2]["title"] == "2: mine"
    second.until(lambda: not second.all("#undo")[0].get_attribute("disabled"))
    second.after(lambda: second.press("#undo"))
    assert second.state()["clusters"][2]["name"] == ""


@pytest.fixture(scope="module")
def tree(place, tmp_path_factory):
    """The program on a run of GraphClustering, whose clusters have a merge tree; no test gives an answer."""
    folder = tmp_path_factory.mktemp("tree") / "run"
    fit = [
        "fit",
        str(place / "rows.csv"),
        "--method",
        "graphclustering",
        "-k",
        "4",
        "--out",
        str(folder),
        "--quiet",
    ]
    assert command_line(fit) == 0
    program = Program(folder, "--metadata", place / "metadata.csv")
    yield program
    program.kill()


@pytest.fixture(scope="module")
def tree_page(tree, tmp_path_factory):
    """One browser for all tests that only look."""
    browser = Page(tmp_path_factory.mktemp("downloads"))
    browser.open(tree.link)
    yield browser
    browser.driver.quit()


def test_clusters_are_named_by_their_columns_in_the_list_on_the_map_and_in_the_legend(tree_page):
    page = tree_page
    titles = {cluster["title"] for cluster in page.state()["clusters"]}
    assert any("high height" in title for title in titles)
    assert {name.text for name in page.all("[data-cluster] .name")} == titles
    assert {name.get_attribute("title") for name in page.all("#legend .name")} == titles
    page.until(lambda: page.run("return document.getElementById('map-plot').map.names") == 4)


def list_of_clusters(page):
    """Go to the list of all clusters, from wherever the test before has left the page."""
    page.press("#tab-clusters")
    if page.all("#back"):
        page.press("#back")


def test_two_clusters_are_compared_from_the_card_of_one(tree_page):
    page = tree_page
    list_of_clusters(page)
    page.press("[data-cluster='0']")
    page.until(lambda: page.all(".features"))
    headings = [heading.text for heading in page.all("#panel h3")]
    assert headings[0] == "What sets it apart"
    assert page.all(".features svg.spread")
    page.choose("#panel select[aria-label^='Cluster to merge']", "2")
    page.press("#compare-with")
    page.until(lambda: page.all("#compared .features"))
    assert page.all("#compared h2")[0].text.startswith("Cluster 0: ")
    assert page.all("#compared .rows [data-row]")
    page.choose("#compare-second", "rest")
    page.press("#compare")
    page.until(lambda: any("the rest" in heading.text for heading in page.all("#compared h2")))


def test_another_level_of_the_tree_is_shown_on_the_map(tree_page):
    page = tree_page
    list_of_clusters(page)
    page.press("#overview")
    page.until(lambda: len(page.all(".overview tbody tr")) == 4)
    assert page.all(".overview .tree svg")
    page.all("#level")[0].send_keys(Keys.CONTROL + "a")
    page.all("#level")[0].send_keys("2" + Keys.TAB)
    page.until(lambda: len(page.all(".overview tbody tr")) == 2)
    page.until(lambda: max(page.colours()) == 1)
    assert len(page.all("#legend button")) == 2
    page.press("#own-level")
    page.until(lambda: max(page.colours()) == 3)
    page.press("#back")


def test_filters_narrow_the_map_and_the_list_together(tree_page):
    page = tree_page
    list_of_clusters(page)
    page.press("#filtering summary")
    page.choose("#add-filter", "column-0")
    page.until(lambda: len(page.all("#filters input[type=checkbox]")) == 3)
    page.all("#filters input[type=checkbox]")[0].click()
    page.until(lambda: len(picked_out(page)) == 160)
    page.choose("#add-filter", "column-1")
    page.until(lambda: page.all("#filters [data-edge=high]"))
    page.all("#filters [data-edge=high]")[0].clear()
    page.all("#filters [data-edge=high]")[0].send_keys("30" + Keys.TAB)
    passing = [row for row in range(240) if row % 3 and 20 + row / 7 <= 30]
    page.until(lambda: len(picked_out(page)) == len(passing))
    assert f"{len(passing)} rows of 240" in page.all("#passing")[0].text
    counts = [count.text for count in page.all(".clusters .count")]
    assert sum(int(count.split()[0]) for count in counts) == len(passing)
    page.press("#select-passing")
    page.until(lambda: page.all("#panel h2")[0].text == f"{len(passing)} selected rows")
    page.until(lambda: "By cluster" in page.all("#summary")[0].text)
    assert page.all("#label")[0].get_attribute("disabled")
    page.press("#clear-filters")
    page.press("#clear")
    page.until(lambda: picked_out(page) is None)


def test_all_that_was_found_is_selected_at_once_and_more_like_a_row_are_listed(tree_page):
    page = tree_page
    page.press("#tab-selection")
    page.all("#words")[0].send_keys("1 maker thing" + Keys.ENTER)
    page.until(lambda: page.all("#select-found"))
    page.press("#select-found")
    page.until(lambda: "selected rows" in page.all("#panel h2")[0].text)
    assert int(page.all("#panel h2")[0].text.split()[0]) > 80
    page.press("#clear")
    page.all("#words")[0].clear()
    page.all("#words")[0].send_keys("6" + Keys.ENTER)
    page.press(".results [data-row='6']")
    page.press("#alike")
    page.until(lambda: len(page.all("#panel #chosen .rows [data-row]")) == 12)
    page.press("#clear")
    assert page.complaints() == []
