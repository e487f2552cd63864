"""Draw docs/architecture.svg: the layers, the path of a command, the data in its three places.

    python tools/generate_docs.py        writes it, with the other generated pages
    rsvg-convert docs/architecture.svg -o picture.png

    +--------------------------------+ +-----------------+
    | clients                        | | what the        |
    +--------------------------------+ | numbers mean    |
    | forebay serve: the layers,     | +-----------------+
    | high to low, as imports go     | | forebay_spark   |
    +---------------+----------------+ +-----------------+
    | in memory     | on disk        | | in the lake     |
    +---------------+----------------+ +-----------------+

Standard library only, and only this file decides what is drawn, so two runs give the same bytes.
``ROOMS`` are the folders and files of the picture; a tidy test checks that each exists.
Widths of letters differ between fonts: every text has room to its right.
"""

from __future__ import annotations

from html import escape

WIDTH, HEIGHT = 1600, 1180
FONT = "Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
MONO = "'JetBrains Mono', 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"

PAPER, INK, MUTED, LINE = "#fbfaf6", "#1f2a37", "#66727f", "#d5dbe1"
BLUE, BLUE_PALE = "#1c6ea4", "#e9f2f8"
SAND, SAND_PALE = "#a8651d", "#f8f0e3"
GREEN, GREEN_PALE = "#2f7d54", "#e9f4ed"
WHITE = "#ffffff"

#: The folders and files that are drawn as rooms of the code, below src/.
ROOMS = (
    "forebay/server/net",
    "forebay/server/durability",
    "forebay/server/config",
    "forebay/server/info",
    "forebay/server/startup.py",
    "forebay/server/logger.py",
    "forebay/engine/engine.py",
    "forebay/engine/blocking.py",
    "forebay/engine/pubsub.py",
    "forebay/commands/table.py",
    "forebay/commands/api",
    "forebay/commands/streams",
    "forebay/commands/keyspace",
    "forebay/commands/strings",
    "forebay/commands/lists",
    "forebay/commands/sets",
    "forebay/commands/scripts",
    "forebay/commands/clients",
    "forebay/commands/admin",
    "forebay/persistence/aof",
    "forebay/persistence/rdb",
    "forebay/persistence/files.py",
    "forebay/wire/request.py",
    "forebay/wire/resp_writer.py",
    "forebay/core/stream.py",
    "forebay/core/group.py",
    "forebay/core/pel.py",
    "forebay/core/node.py",
    "forebay/core/keyspace.py",
    "forebay/mem.py",
    "forebay/errors.py",
    "forebay_spark/source.py",
    "forebay_spark/runtime",
    "forebay_spark/servers",
    "forebay_spark/read",
    "forebay_spark/values",
    "forebay_spark/write",
    "forebay_spark/lake",
    "forebay_spark/pipeline",
    "forebay_spark/query",
)

STEPS = (
    ("receive", "bytes, into one shared buffer"),
    ("parse", "arguments as offsets, not as objects"),
    ("look up", "its row in the table; may it run?"),
    ("act", "check all arguments, then change"),
    ("change", "entries, groups, pending entries"),
    ("record", "effects to the AOF, with a checksum"),
    ("reply", "one send per client, after the write"),
)


def text(
    x: float,
    y: float,
    words: str,
    size: int = 14,
    fill: str = INK,
    *,
    weight: int = 400,
    mono: bool = False,
    anchor: str = "start",
) -> str:
    """One line of text; ``y`` is its base line."""
    family = f' font-family="{MONO}"' if mono else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" font-weight="{weight}"'
        f' text-anchor="{anchor}"{family}>{escape(words)}</text>'
    )


def box(
    x: float,
    y: float,
    w: float,
    h: float,
    fill: str = WHITE,
    stroke: str = LINE,
    *,
    radius: int = 10,
    dashed: bool = False,
    width: float = 1.2,
) -> str:
    """A rectangle with round corners; dashed means that it does not exist yet."""
    dash = ' stroke-dasharray="5 5"' if dashed else ""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{radius}" fill="{fill}"'
        f' stroke="{stroke}" stroke-width="{width:g}"{dash}/>'
    )


def path(points: str, stroke: str = BLUE, *, width: float = 3, arrow: bool = True) -> str:
    """A line along the points of an SVG path."""
    end = f' marker-end="url(#{ARROWS[stroke]})"' if arrow else ""
    return (
        f'<path d="{points}" fill="none" stroke="{stroke}" stroke-width="{width:g}"'
        f' stroke-linecap="round" stroke-linejoin="round"{end}/>'
    )


ARROWS = {BLUE: "blue", SAND: "sand", GREEN: "green"}


def badge(x: float, y: float, number: int) -> str:
    """A step of the path of a command."""
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="12" fill="{BLUE}" stroke="{PAPER}" stroke-width="2"/>'
        + text(x, y + 4.5, str(number), 13, WHITE, weight=700, anchor="middle")
    )


def chip(
    x: float, y: float, w: float, name: str, stroke: str = LINE, *, dashed: bool = False
) -> str:
    """A room: a folder, which ends with a slash, or a file."""
    ink = MUTED if dashed else INK
    fill = "none" if dashed else WHITE
    return box(x, y, w, 36, fill, MUTED if dashed else stroke, radius=8, dashed=dashed) + text(
        x + w / 2, y + 23, name, 14, ink, weight=600, mono=True, anchor="middle"
    )


def band(x: float, y: float, w: float, h: float, name: str, question: str, fill: str) -> str:
    """A layer: its name and the question that it answers."""
    return "".join(
        [
            box(x, y, w, h, fill, "none", radius=12),
            text(x + 18, y + 30, name, 17, weight=700, mono=True),
            *(
                text(x + 18, y + 52 + 17 * at, line, 12, MUTED)
                for at, line in enumerate(question.split("|"))
            ),
        ]
    )


def head() -> list[str]:
    """The paper, the title, the heads of arrows."""
    markers = "".join(
        f'<marker id="{name}" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="5"'
        f' markerHeight="5" orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z"'
        f' fill="{colour}"/></marker>'
        for colour, name in ARROWS.items()
    )
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' width="{WIDTH}" height="{HEIGHT}" font-family="{FONT}">',
        "<title>Forebay: layers, the path of a command, the data in its three places</title>",
        f"<defs>{markers}</defs>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>',
        text(50, 72, "Forebay", 40, weight=700),
        text(264, 71, "the path of a command, and the three places of an entry", 18, MUTED),
    ]


def clients() -> list[str]:
    """The clients, above the server."""
    return [
        box(240, 104, 250, 48, WHITE, BLUE, radius=24),
        text(365, 133, "any Redis client", 15, weight=600, anchor="middle"),
        box(520, 104, 170, 48, "none", MUTED, radius=24, dashed=True),
        text(605, 133, "workers", 15, MUTED, weight=600, anchor="middle"),
        box(710, 104, 170, 48, "none", MUTED, radius=24, dashed=True),
        text(795, 133, "console", 15, MUTED, weight=600, anchor="middle"),
        box(900, 104, 170, 48, "none", MUTED, radius=24, dashed=True),
        text(985, 133, "replicas", 15, MUTED, weight=600, anchor="middle"),
        text(50, 133, "dashed: comes next", 13, MUTED),
    ]


def server() -> list[str]:
    """The layers of one process, high to low."""
    return [
        box(50, 190, 1040, 600, WHITE, LINE, radius=18, width=1.5),
        text(74, 220, "forebay serve", 16, weight=700, mono=True),
        text(450, 220, "one thread runs all commands; imports go down, never up", 13, MUTED),
        band(66, 236, 1008, 104, "server/", "sockets, clock, files|when to write", BLUE_PALE),
        band(66, 350, 1008, 84, "engine/", "who may run, who waits", BLUE_PALE),
        band(66, 444, 716, 112, "commands/", "what each command does", BLUE_PALE),
        box(794, 444, 280, 112, SAND_PALE, "none", radius=12),
        band(66, 566, 340, 112, "wire/", "what bytes mean", BLUE_PALE),
        band(418, 566, 656, 112, "core/", "what data is", BLUE_PALE),
        band(66, 688, 1008, 48, "mem", "", BLUE_PALE),
        text(140, 718, "bytes and words, inlined as C", 13, MUTED),
        text(980, 718, "errors", 15, MUTED, weight=600, mono=True, anchor="end"),
        text(74, 768, "Every module is plain Python; the hot ones are also compiled.", 13, MUTED),
        text(560, 768, "Below server/: a function of (state, arguments, time).", 13, MUTED),
    ]


def rooms() -> list[str]:
    """The folders and files inside the layers."""
    return [
        chip(250, 256, 170, "net/", BLUE),
        chip(836, 256, 200, "durability/", SAND),
        chip(880, 298, 156, "replication", dashed=True),
        text(452, 322, "config/   info/   startup   logger", 13, MUTED, mono=True),
        chip(420, 374, 140, "engine", BLUE),
        chip(576, 374, 110, "blocking"),
        chip(698, 374, 90, "pubsub"),
        chip(800, 374, 36, "…"),
        chip(880, 374, 156, "life cycle", dashed=True),
        chip(470, 462, 130, "streams/", BLUE),
        chip(360, 462, 90, "table"),
        text(610, 516, "keyspace/ strings/", 12, MUTED, mono=True),
        text(610, 532, "lists/ sets/ scripts/", 12, MUTED, mono=True),
        text(610, 548, "clients/ admin/  api/", 12, MUTED, mono=True),
        chip(812, 462, 78, "aof/", SAND),
        chip(900, 462, 70, "rdb/", SAND),
        chip(980, 462, 78, "files", SAND),
        text(812, 526, "persistence/", 17, weight=700, mono=True),
        text(812, 545, "the only door to the disk", 12, MUTED),
        chip(250, 584, 110, "request", BLUE),
        chip(250, 630, 140, "resp_writer"),
        chip(530, 584, 110, "stream", BLUE),
        chip(652, 584, 90, "group"),
        chip(754, 584, 70, "pel"),
        chip(836, 584, 110, "node"),
        chip(530, 630, 110, "keyspace"),
        text(658, 653, "streams of entries, strings, lists, sets", 12, MUTED),
    ]


def command_path() -> list[str]:
    """The path of one command, from its socket and back to it."""
    return [
        path("M285 152 V248"),
        path("M285 292 V576"),
        path("M320 584 V404 Q320 392 332 392 H412"),
        path("M535 410 V454"),
        path("M565 498 V576"),
        path("M600 480 H804"),
        path("M858 462 V300", SAND),
        path("M836 274 H428"),
        path("M385 256 V160"),
        text(630, 265, "the reply leaves after the write", 12, BLUE, weight=600, anchor="middle"),
        text(706, 472, "effects", 12, BLUE, weight=600, anchor="middle"),
        badge(250, 256, 1),
        badge(250, 584, 2),
        badge(420, 374, 3),
        badge(470, 462, 4),
        badge(530, 584, 5),
        badge(812, 462, 6),
        badge(420, 256, 7),
    ]


def legend() -> list[str]:
    """The meaning of the numbers."""
    drawn = [
        box(1130, 104, 420, 330, WHITE, LINE, radius=18, width=1.5),
        text(1156, 142, "The path of a command", 19, weight=700),
    ]
    for at, (verb, words) in enumerate(STEPS):
        y = 182 + 36 * at
        drawn += [badge(1170, y - 5, at + 1), text(1194, y, verb, 15, weight=700)]
        drawn += [text(1278, y, words, 13, MUTED)]
    return drawn


def spark() -> list[str]:
    """The connector and its jobs: a client like any other."""
    return [
        box(1130, 470, 420, 320, WHITE, LINE, radius=18, width=1.5),
        text(1156, 506, "forebay_spark", 16, weight=700, mono=True),
        text(1300, 506, "a client like any other", 13, MUTED),
        box(1146, 526, 388, 112, GREEN_PALE, "none", radius=12),
        text(1164, 546, "connector: exactly once, both ways", 13, MUTED),
        *(
            chip(1164 + 122 * (at % 3), 554 + 42 * (at // 3), 110, name, GREEN)
            for at, name in enumerate(
                ("source", "servers/", "read/", "values/", "write/", "runtime/")
            )
        ),
        box(1146, 650, 388, 112, GREEN_PALE, "none", radius=12),
        text(1164, 677, "jobs: archive, aggregate, replay; SQL over all of it", 13, MUTED),
        chip(1164, 700, 130, "pipeline/", GREEN),
        chip(1306, 700, 90, "lake/", GREEN),
        chip(1408, 700, 100, "query/", GREEN),
        path("M1074 556 H1138", GREEN),
        path("M1146 606 H1082", GREEN),
        text(1108, 546, "columns", 11, GREEN, weight=600, anchor="middle"),
        text(1108, 626, "XADD", 11, GREEN, weight=600, anchor="middle"),
    ]


def panel(x: float, w: float, title: str, words: str, colour: str, pale: str) -> list[str]:
    """One of the three places of an entry."""
    return [
        box(x, 850, w, 280, pale, "none", radius=18),
        text(x + 24, 888, title, 19, colour, weight=700),
        text(x + 24, 912, words, 13, MUTED),
    ]


def in_memory() -> list[str]:
    """A stream in memory: nodes of entries, groups that point into it."""
    drawn = panel(50, 500, "In memory", "a radix tree of nodes; groups remember", BLUE, BLUE_PALE)
    for node, first in enumerate((1, 4, 7)):
        x = 74 + node * 152
        drawn.append(box(x, 948, 142, 50, WHITE, BLUE, radius=8))
        for at in range(3 if node < 2 else 2):
            drawn.append(box(x + 8 + at * 43, 958, 38, 30, BLUE_PALE, "none", radius=5))
            drawn.append(text(x + 27 + at * 43, 978, f"{first + at}-0", 12, anchor="middle"))
    drawn += [
        path("M441 1030 V1004", width=2),
        text(441, 1048, "next XADD", 12, MUTED, anchor="middle"),
        path("M253 1056 V1004", width=2),
        text(253, 1074, "group billing: read up to 4-0", 12, INK, weight=600, anchor="middle"),
        text(253, 1092, "pending: 2-0 alice, 4-0 bob", 12, MUTED, anchor="middle"),
    ]
    return drawn


def on_disk() -> list[str]:
    """The files of the AOF: a base, and increments of sealed units."""
    drawn = panel(580, 510, "On disk", "Redis's own formats, sealed unit by unit", SAND, SAND_PALE)
    drawn += [
        box(604, 948, 130, 60, WHITE, SAND, radius=8),
        text(669, 974, "base.rdb", 13, weight=600, mono=True, anchor="middle"),
        text(669, 994, "up to a moment", 11, MUTED, anchor="middle"),
        path("M738 978 H760", SAND, width=2),
        box(768, 948, 298, 60, WHITE, SAND, radius=8),
    ]
    for at, name in enumerate(("XADD 8-0", "XACK 2-0", "XADD 9-0")):
        x = 780 + at * 94
        drawn.append(box(x, 958, 66, 40, SAND_PALE, "none", radius=5))
        drawn.append(text(x + 33, 982, name, 10, mono=True, anchor="middle"))
        drawn.append(box(x + 70, 958, 16, 40, SAND, "none", radius=4))
    drawn += [
        text(768, 1032, "incr.aof", 13, weight=600, mono=True),
        text(846, 1032, "what happened since", 12, MUTED),
        box(768, 1044, 12, 16, SAND, "none", radius=3),
        text(790, 1057, "a checksum after every unit", 12, MUTED),
        text(604, 1085, "manifest", 13, weight=600, mono=True),
        text(680, 1085, "names the files; it is replaced as a whole", 12, MUTED),
        text(604, 1108, "A child writes the next base while the server goes on.", 12, MUTED),
    ]
    return drawn


def in_the_lake() -> list[str]:
    """A Delta table: commits that name files."""
    drawn = panel(1130, 420, "In the lake", "a Delta table, every entry once", GREEN, GREEN_PALE)
    for at in range(3):
        x = 1154 + at * 62
        drawn.append(box(x, 948, 52, 44, WHITE, GREEN, radius=8))
        drawn.append(text(x + 26, 975, f"{at + 1}.json", 11, mono=True, anchor="middle"))
        drawn.append(path(f"M{x + 26} 994 V1016", GREEN, width=2))
        drawn.append(box(x, 1022, 52, 40, GREEN, "none", radius=6))
        drawn.append(text(x + 26, 1046, "parquet", 10, WHITE, weight=600, anchor="middle"))
    drawn += [
        text(1352, 966, "a commit: files,", 12, MUTED),
        text(1352, 984, "and how far each stream is", 12, MUTED),
        text(1352, 1046, "rows, by stream and day", 12, MUTED),
        text(1154, 1098, "forebay sql · Polars · DuckDB · Spark", 13, weight=600),
    ]
    return drawn


def flows() -> list[str]:
    """Arrows from the code to the three places."""
    return [
        path("M500 678 V842"),
        path("M1019 498 V842", SAND),
        path("M1340 790 V842", GREEN),
        text(50, 1158, "One entry, three places: hot, safe, kept.", 13, MUTED),
        text(1550, 1158, "drawn by tools/draw_architecture.py", 12, MUTED, anchor="end"),
    ]


def drawing() -> str:
    """The whole picture."""
    parts = (head, clients, server, flows, rooms, command_path, legend, spark)
    places = (in_memory, on_disk, in_the_lake)
    return "\n".join(line for part in (*parts, *places) for line in part()) + "\n</svg>\n"
