"""A bar chart per suite of what bench/run measured: plot.py RESULTS.json FOLDER. Headrace's bar and each peer's, with their ranges."""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

OURS, THEIRS = "#1f6f8b", "#b0b7bd"


def bars(rows):
    """(label, value, range, is it ours) of one figure: ours once, then each it is compared with."""
    first = rows[0]
    yield "Headrace", first["value"], first.get("range"), True
    for row in rows:
        b = row["baseline"]
        if b:
            yield b["name"], b["value"], b.get("range"), False


def draw(axes, name, rows):
    entries = list(bars(rows))
    for at, (label, value, span, ours) in enumerate(entries):
        if value is None:
            axes.text(0, at, " not run", va="center", color="#a33")
            continue
        error = [[value - span[0]], [span[1] - value]] if span else None
        axes.barh(at, value, color=OURS if ours else THEIRS, xerr=error, error_kw={"ecolor": "#444", "lw": 1})
        axes.text(span[1] if span else value, at, f"  {value:,.4g}", va="center", fontsize=8)
    axes.set_yticks(range(len(entries)), [e[0] for e in entries])
    axes.set_ylim(len(entries) - 0.5, -0.5)
    axes.set_title(name, loc="left", fontsize=10)
    axes.set_xlabel(rows[0]["unit"], fontsize=8)
    axes.margins(x=0.15)
    axes.spines[["top", "right"]].set_visible(False)
    return len(entries)


def main():
    results, folder = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
    suites = {}
    for row in results["results"]:
        suites.setdefault(row["suite"], {}).setdefault((row["name"], row["unit"]), []).append(row)
    for suite, figures in suites.items():
        heights = [1 + len([*bars(rows)]) for rows in figures.values()]
        picture, axes = plt.subplots(len(figures), 1, figsize=(8, 0.33 * sum(heights) + 0.7 * len(figures)), squeeze=False,
                                     gridspec_kw={"height_ratios": heights})
        for place, ((name, _), rows) in zip(axes[:, 0], figures.items()):
            draw(place, name, rows)
        picture.tight_layout()
        picture.savefig(folder / f"{suite}.png", dpi=110)
        plt.close(picture)


if __name__ == "__main__":
    main()
