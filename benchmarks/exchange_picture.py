"""Draw how the two pools of a run exchange candidates, as an animated SVG.

python benchmarks/exchange_picture.py RUN PICTURE.svg

These commands draw the picture of docs/method.md:

evodiverse task=gsk3b method=pt seed=2 method.capacity=30 method.offspring=15 task.initial.size=30 \
budget.oracle_calls=660 outputs=/tmp/exchange name=pools && \
python benchmarks/exchange_picture.py /tmp/exchange/pools docs/images/exchange.svg

Candidates are dots, placed by score from left to right and by similarity from top to bottom, at the same place in both
panels. Everything is read from the log: members after each iteration, and the pairs that each exchange tried.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Final

import numpy as np
from rdkit import DataStructs

import evodiverse
from evodiverse.tasks.molecules.diversity import fingerprint

WIDTH, HEIGHT = 760, 650
LEFT, RIGHT = 52, 736
TOPS = {1: 116, 0: 362}  # upper edge of the panel of each pool; the hot pool is above
PANEL = 200
MARGIN = 18  # between the dots and the edges of a panel
RADIUS = 6.5

# Seconds: iteration 0, any other iteration, fading in or out, and the pause before the animation starts over
START, STEP, FADE, END = 1.6, 0.6, 0.15, 2.5
# Seconds of an exchange: pairs appear, the accepted ones are marked, their candidates move, and a pause
PAIR, VERDICT, MOVE, REST = 1.2, 0.9, 1.2, 0.9

STYLE: Final = """
text{font:18px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:#1d2738}
.h{font-size:22px;font-weight:600}.b{font-weight:600}.s{fill:#4c586b}.m{text-anchor:middle}.e{text-anchor:end}
.card{fill:#fbfbf9;stroke:#d5d8dd}.hot{fill:#fdf0e6}.cold{fill:#e9f1fb}
.g{stroke:#c9ced6;stroke-width:1}.c1{fill:#d9660b}.c0{fill:#1f6fc4}
circle{stroke:#fff;stroke-width:1.2}.ring{fill:none;stroke:#1d2738;stroke-width:2.5}
.l{fill:none;stroke:#1d2738;stroke-width:2.2}.x{stroke:#8d96a5;stroke-dasharray:5 5}
.a{fill:none;stroke-width:3;stroke:#16803c}.tip{fill:#16803c}.med{stroke:#1d2738;stroke-width:2;stroke-dasharray:3 4}
.w{opacity:0}.z{opacity:1}
"""
DARK: Final = """
@media(prefers-color-scheme:dark){text{fill:#e8ebf1}.s{fill:#aab4c4}.card{fill:#161b24;stroke:#343c4a}
.hot{fill:#33231a}.cold{fill:#182739}.g{stroke:#3d4654}.c1{fill:#f58a35}.c0{fill:#5aa5f2}circle{stroke:#10141b}
.ring,.l,.med{stroke:#e8ebf1}.x{stroke:#7c8798}.a{stroke:#4fc47c}.tip{fill:#4fc47c}}
"""


@dataclass
class Pair:
    """A pair of candidates that an exchange tried.

    Attributes:
        cold: The oracle call that evaluated the candidate from the cold pool.
        hot: The oracle call that evaluated the candidate from the hot pool.
        accepted: Whether the two candidates changed places.
        blocked: Whether no swap was possible, since one of the pools already held the other's candidate.
    """

    cold: int
    hot: int
    accepted: bool
    blocked: bool


@dataclass
class Story:
    """What a run's log says. A candidate is identified by the oracle call that evaluated it.

    Attributes:
        pools: ``pools[i][p]`` are the members of pool p after iteration i, before its exchange.
        pairs: The pairs that each exchange tried, by iteration.
        scores: The score of each candidate.
        smiles: The SMILES of each candidate.
        born: The pool in which each candidate was made.
        n_calls: The number of calls up to the end of each iteration.
        betas: The inverse temperature of each pool.
        task: The name of the task in capitals.
    """

    pools: list[list[set[int]]]
    pairs: dict[int, list[Pair]]
    scores: dict[int, float]
    smiles: dict[int, str]
    born: dict[int, int]
    n_calls: list[int]
    betas: list[float]
    task: str

    @property
    def last(self) -> int:
        """The iteration of the last exchange, with which the picture ends."""
        return max(self.pairs)


@dataclass
class Picture:
    """SVG elements, and the windows of time in which they are seen.

    Attributes:
        seconds: The length of the animation.
        elements: The elements, as text.
        windows: The name of the style class of each window, by its start and end in seconds.
        rules: The style rules of elements that move.
    """

    seconds: float
    elements: list[str] = field(default_factory=list)
    windows: dict[tuple[float, float], str] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)

    def add(self, element: str, start: float, end: float, *, still: bool = False) -> None:
        """Add an element that is seen from ``start`` to ``end`` seconds.

        Args:
            element: The element, with ``CLASS`` where the names of its style classes go.
            start: The second from which it is seen.
            end: The second until which it is seen.
            still: Whether it is also seen if animations are switched off.
        """
        name = self.windows.setdefault((round(start, 2), round(end, 2)), f"k{len(self.windows)}")
        self.elements.append(element.replace("CLASS", f"w {name}{' z' if still else ''}"))

    def percent(self, at: float) -> str:
        """Return a time in seconds as a percentage of the animation, as CSS keyframes state it."""
        return f"{100 * min(max(at / self.seconds, 0), 1):.2f}".rstrip("0").rstrip(".") + "%"

    def keyframes(self) -> Iterator[str]:
        """Yield the style rules of all windows and of elements that move."""
        for (start, end), name in self.windows.items():
            seen = f"{self.percent(start)},{self.percent(end)}{{opacity:1}}"
            before = f"0%,{self.percent(start - FADE)}{{opacity:0}}" if start > FADE else ""
            after = f"{self.percent(end + FADE)},to{{opacity:0}}" if end < self.seconds - FADE else "to{opacity:1}"
            yield f"@keyframes {name}{{{before}{seen}{after}}}.{name}{{animation-name:{name}}}"
        yield from self.rules


def read_story(path: str) -> Story:
    """Return what the log of a molecule run with two pools says."""
    run = evodiverse.load(path)
    rows = [row for row in run.table().to_pylist() if row["call"] is not None]
    ladder = run.settings["method.ladder"]
    pairs: dict[int, list[Pair]] = {}
    for row in run.table("swaps").to_pylist():
        pair = Pair(row["cold_call"], row["hot_call"], row["accepted"], row["blocked"])
        pairs.setdefault(row["iteration"], []).append(pair)
    if len(ladder) != 2 or not pairs:
        sys.exit(f"{path} is not a run of two pools that exchange")
    members: dict[int, list[set[int]]] = {}
    for row in run.table("populations").to_pylist():
        members.setdefault(row["iteration"], []).append(set(row["members"]))
    for iteration, tried in pairs.items():
        for pair in reversed(tried):
            if pair.accepted:  # the log has the pools after the exchange
                for pool in members[iteration]:
                    pool ^= {pair.cold, pair.hot}
    calls = [max(row["call"] for row in rows if row["iteration"] <= iteration) for iteration in sorted(members)]
    return Story(
        [members[iteration] for iteration in sorted(members)],
        pairs,
        {row["call"]: row["score"] for row in rows},
        {row["call"]: row["genotype"] for row in rows},
        {row["call"]: row["pool"] for row in rows},
        calls,
        [float(beta) for beta in ladder],
        str(run.settings["task.name"]).upper(),
    )


def place(story: Story) -> dict[int, tuple[float, float]]:
    """Return for each call where its dot is in a panel: pixels from the left, and from the panel's top.

    The height is the rank on the first axis of classical multidimensional scaling of the Tanimoto distances, so that
    similar molecules are close.
    """
    calls = sorted({call for pools in story.pools for pool in pools for call in pool})
    bits = [fingerprint(story.smiles[call]) for call in calls]
    similar = np.array([DataStructs.BulkTanimotoSimilarity(one, bits) for one in bits])
    squares = (1 - similar) ** 2
    centered = squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()
    axis = np.linalg.eigh(-centered / 2)[1][:, -1]
    axis *= np.sign(axis[np.argmax(np.abs(axis))])
    ranks = np.argsort(np.argsort(axis, kind="stable")) / max(len(calls) - 1, 1)
    scale = (RIGHT - LEFT - 2 * MARGIN) / most(story)
    heights = MARGIN + ranks * (PANEL - 2 * MARGIN)
    return {
        call: (round(LEFT + MARGIN + story.scores[call] * scale, 1), round(float(height), 1))
        for call, height in zip(calls, heights, strict=True)
    }


def most(story: Story) -> float:
    """Return the score at the right edge: the next multiple of 0.1 above the best score."""
    return math.ceil(10 * max(story.scores.values()) + 0.01) / 10


def tell_times(story: Story) -> tuple[list[float], list[float], float]:
    """Return when each iteration begins, when each ends, and how long the animation takes, in seconds."""
    begins, ends, now = [], [], 0.0
    for iteration in range(story.last + 1):
        begins.append(now)
        now += STEP if iteration else START
        now += (PAIR + VERDICT + MOVE + REST) if iteration in story.pairs else 0
        ends.append(now)
    return begins, ends, now + END


def dot(story: Story, at: tuple[float, float], pool: int, call: int) -> str:
    """Return the dot of a candidate in the panel of a pool, colored by the pool in which the candidate was made."""
    return f'<circle class="c{story.born[call]} CLASS" cx="{at[0]}" cy="{at[1] + TOPS[pool]:g}" r="{RADIUS}"/>'


def draw(story: Story) -> str:
    """Return the animated picture as the text of an SVG file."""
    begins, ends, seconds = tell_times(story)
    picture = Picture(seconds)
    places = place(story)
    moves = {iteration: begins[iteration] + STEP + PAIR + VERDICT for iteration in story.pairs}
    draw_medians(picture, story, places, begins, moves)
    draw_members(picture, story, places, begins, moves)
    for iteration, pairs in story.pairs.items():
        draw_exchange(picture, story, places, iteration, pairs, begins[iteration] + STEP, moves[iteration])
    draw_texts(picture, story, begins, ends, moves)
    title = "Two pools of molecules exchange candidates"
    accepted = sum(pair.accepted for pairs in story.pairs.values() for pair in pairs)
    tried = sum(not pair.blocked for pairs in story.pairs.values() for pair in pairs)
    description = (
        f"Animation of {story.last} iterations of a {story.task} search. Dots are molecules, further right for a "
        "higher score. The cold pool below keeps high scores, the hot pool above keeps all kinds. At "
        f"{len(story.pairs)} exchanges molecules of both pools are paired, and {accepted} of {tried} pairs change "
        "places: a better molecule of the hot pool always moves to the cold pool, a worse one sometimes."
    )
    moving = f".w,.v{{animation:{seconds:.1f}s linear infinite}}"
    motion = f"@media(prefers-reduced-motion:no-preference){{{moving}{''.join(picture.keyframes())}}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="title desc">\n<title id="title">{title}</title>\n'
        f'<desc id="desc">{escape(description)}</desc>\n'
        f"<style>{STYLE}{DARK}{motion}</style>\n{''.join(draw_ground(story))}{''.join(picture.elements)}</svg>\n"
    )


def draw_ground(story: Story) -> Iterator[str]:
    """Yield what never changes: panels, axis, names, and the legend."""
    yield f'<rect class="card" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="10"/>'
    names = {1: ("Hot pool", "hot", "lenient: keeps all kinds"), 0: ("Cold pool", "cold", "strict: keeps high scores")}
    for pool, (name, look, what) in names.items():
        top = TOPS[pool]
        yield (
            f'<text x="{LEFT}" y="{top - 10}"><tspan class="b">{name}</tspan>'
            f'<tspan class="s">  β = {story.betas[pool]:g}, {what}</tspan></text>'
            f'<rect class="{look}" x="{LEFT}" y="{top}" width="{RIGHT - LEFT}" height="{PANEL}" rx="6"/>'
            f'<text class="s m" transform="translate({LEFT - 16} {top + PANEL / 2}) rotate(-90)">similar nearby</text>'
        )
    bottom = TOPS[0] + PANEL
    highest = most(story)
    for tick in np.arange(0, highest + 0.01, 0.2):
        x = LEFT + MARGIN + tick * (RIGHT - LEFT - 2 * MARGIN) / highest
        yield f'<path class="g" d="M{x:.1f} {TOPS[1]}v{PANEL}M{x:.1f} {TOPS[0]}v{PANEL}"/>'
        yield f'<text class="s m" x="{x:.1f}" y="{bottom + 21}">{tick:.1f}</text>'
    yield f'<text class="s e" x="{RIGHT}" y="{bottom + 21}">score →</text>'
    x, y = LEFT, bottom + 58
    yield (
        f'<circle class="c1" cx="{x + 8}" cy="{y - 6}" r="{RADIUS}"/><text x="{x + 22}" y="{y}">born hot</text>'
        f'<circle class="c0" cx="{x + 128}" cy="{y - 6}" r="{RADIUS}"/><text x="{x + 142}" y="{y}">born cold</text>'
        f'<path class="med" d="M{x + 258} {y - 16}v20"/><text x="{x + 270}" y="{y}">median</text>'
        f'<path class="a" d="M{x + 364} {y - 6}h30"/><text x="{x + 402}" y="{y}">swap</text>'
        f'<path class="l x" d="M{x + 476} {y - 6}h30"/><text x="{x + 514}" y="{y}">pair turned down</text>'
    )


def draw_members(
    picture: Picture,
    story: Story,
    places: dict[int, tuple[float, float]],
    begins: Sequence[float],
    moves: dict[int, float],
) -> None:
    """Add a dot for each stay of a candidate in a pool."""
    for pool in (1, 0):
        since: dict[int, float] = {}
        for iteration in range(story.last + 1):
            members = story.pools[iteration][pool]
            for call in sorted(since.keys() - members):
                picture.add(dot(story, places[call], pool, call), since.pop(call), begins[iteration])
            for call in sorted(members - since.keys()):
                since[call] = begins[iteration]
            for pair in story.pairs.get(iteration, []):
                if pair.accepted:
                    leaves, joins = (pair.hot, pair.cold) if pool else (pair.cold, pair.hot)
                    picture.add(dot(story, places[leaves], pool, leaves), since.pop(leaves), moves[iteration])
                    since[joins] = moves[iteration] + MOVE
        for call in sorted(since):
            picture.add(dot(story, places[call], pool, call), since[call], picture.seconds, still=True)


def draw_medians(
    picture: Picture,
    story: Story,
    places: dict[int, tuple[float, float]],
    begins: Sequence[float],
    moves: dict[int, float],
) -> None:
    """Add to each panel a line at the median score of the pool, which moves as the median changes."""
    for pool in (1, 0):
        frames, members = [], set[int]()
        for iteration in range(story.last + 1):
            states = [(begins[iteration], members := set(story.pools[iteration][pool]))]
            if iteration in story.pairs:
                after = set(members)
                for pair in story.pairs[iteration]:
                    if pair.accepted:
                        after ^= {pair.cold, pair.hot}
                states.append((moves[iteration] + MOVE, after))
            frames += [(at, float(np.median([places[call][0] for call in state]))) for at, state in states]
        name, last = f"med{pool}", frames[-1][1]
        steps = "".join(
            f"{picture.percent(max(at - FADE, 0))}{{transform:translateX({before - last:.1f}px)}}"
            f"{picture.percent(at + FADE)}{{transform:translateX({here - last:.1f}px)}}"
            for (at, here), (_, before) in zip(frames, [frames[0], *frames], strict=False)
        )
        picture.rules.append(f"@keyframes {name}{{{steps}}}.{name}{{animation-name:{name}}}")
        picture.elements.append(f'<path class="med v {name}" d="M{last:.1f} {TOPS[pool]}v{PANEL}"/>')


def draw_exchange(
    picture: Picture,
    story: Story,
    places: dict[int, tuple[float, float]],
    iteration: int,
    pairs: Sequence[Pair],
    start: float,
    move: float,
) -> None:
    """Add the pairs of an exchange, marks for those that are accepted or not, and the candidates that move.

    ``start`` is the second at which the pairs appear, and ``move`` that at which the accepted ones begin to move.
    """
    is_last = iteration == story.last
    until = move + MOVE + REST
    for pair in pairs:
        (x0, y0), (x1, y1) = places[pair.cold], places[pair.hot]
        cold, hot = (x0, y0 + TOPS[0]), (x1, y1 + TOPS[1])
        for x, y in (cold, hot):
            ring = f'<circle class="ring CLASS" cx="{x}" cy="{y:g}" r="{RADIUS + 3}"/>'
            picture.add(ring, start, move - FADE if pair.accepted else move)
        line = f'd="M{cold[0]} {cold[1]:g}L{hot[0]} {hot[1]:g}"'
        if not pair.accepted:
            picture.add(f'<path class="l CLASS" {line}/>', start, start + PAIR)
            picture.add(f'<path class="l x CLASS" {line}/>', start + PAIR, move + MOVE, still=is_last)
            continue
        picture.add(f'<path class="l CLASS" {line}/>', start, start + PAIR)
        picture.add(f'<path class="a CLASS" {line}/>', start + PAIR, move - FADE)
        for call, x, y, pool in ((pair.cold, *cold, 0), (pair.hot, *hot, 1)):
            draw_move(picture, story, call, (x, y), pool, (move, until), is_last=is_last)


def draw_move(
    picture: Picture,
    story: Story,
    call: int,
    at: tuple[float, float],
    pool: int,
    times: tuple[float, float],
    *,
    is_last: bool,
) -> None:
    """Add a candidate that moves from a pool to the other one, along an arc that stays visible behind it.

    ``at`` is the place of its dot before the move, in the panel of ``pool``. ``times`` are the second at which it
    begins to move, and the second until which the arc is seen.
    """
    move, until = times
    x, y = at
    way = TOPS[1 - pool] - TOPS[pool]
    bulge = 34 if pool else -34
    end = y + way
    tip = 9 if way > 0 else -9
    arc = f'd="M{x} {y:g}Q{x + bulge:g} {y + way / 2:g} {x} {end - 1.6 * tip:g}"'
    picture.add(f'<path class="a CLASS" {arc}/>', move, until, still=is_last)
    slant = -bulge / abs(way / 2) * abs(tip) * 0.9
    head = f"M{x} {end - 0.7 * tip:g}l{-slant - 5:.1f} {-1.3 * tip:.1f}h10z"
    picture.add(f'<path class="tip CLASS" d="{head}"/>', move + MOVE, until, still=is_last)
    name = f"m{call}p{pool}"
    steps = []
    for share in np.linspace(0, 1, 9):
        here = f"{2 * share * (1 - share) * bulge:.1f}px,{way * share:.1f}px"
        steps.append(f"{picture.percent(move + MOVE * share)}{{transform:translate({here})}}")
    frames = f"0%{{transform:none}}{''.join(steps)}to{{transform:translate(0,{way}px)}}"
    picture.rules.append(f"@keyframes {name}{{{frames}}}.{name}{{animation-name:{name}}}")
    moving = f'<g class="v {name}">{dot(story, (x, y - TOPS[pool]), pool, call)}</g>'
    picture.add(moving, move, move + MOVE)


def draw_texts(
    picture: Picture, story: Story, begins: Sequence[float], ends: Sequence[float], moves: dict[int, float]
) -> None:
    """Add a headline with the state of each iteration, and below it a line that says what happens."""
    best = 0.0
    for iteration in range(story.last + 1):
        born = [call for call in story.scores if call <= story.n_calls[iteration]]
        best = max(story.scores[call] for call in born)
        text = f"iteration {iteration} · {story.n_calls[iteration]} oracle calls · best {story.task} score {best:.2f}"
        is_last = iteration == story.last
        end = picture.seconds if is_last else ends[iteration] - 2 * FADE
        picture.add(f'<text class="h CLASS" x="{LEFT}" y="38">{text}</text>', begins[iteration], end, still=is_last)
        if iteration not in story.pairs:
            continue
        tried = sum(not pair.blocked for pair in story.pairs[iteration])
        n = sum(pair.accepted for pair in story.pairs[iteration])
        start, move = begins[iteration] + STEP, moves[iteration]
        lines = [
            ("exchange: random pairs of a hot and a cold molecule", start, start + PAIR),
            ("a better hot molecule always moves down, a worse one sometimes", start + PAIR, move - FADE),
            (f"{n} of {tried} pairs swapped places", move, picture.seconds if is_last else ends[iteration] - 2 * FADE),
        ]
        for line, since, until in lines:
            mark = f'<text class="CLASS" x="{LEFT}" y="68">{line}</text>'
            picture.add(mark, since, until - 2 * FADE, still=is_last and line is lines[-1][0])
    quiet, since = "each pool: parents → offspring → survivors", 0.0
    for iteration in sorted(story.pairs):
        picture.add(
            f'<text class="s CLASS" x="{LEFT}" y="68">{quiet}</text>', since, begins[iteration] + STEP - 2 * FADE
        )
        since = ends[iteration]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="a molecule run of two pools, about twenty iterations of small pools")
    parser.add_argument("picture", type=Path, help="the SVG file to write")
    arguments = parser.parse_args()
    arguments.picture.write_text(draw(read_story(arguments.run)))


if __name__ == "__main__":
    main()
