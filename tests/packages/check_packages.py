#!/usr/bin/env python3
"""scripts/packages.txt, scripts/install-deps.sh and docs/dependencies.md name the same packages."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def groups_of(text):
    groups, group, problems = {}, None, []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if match := re.fullmatch(r"\[([a-z]+)\]", line):
            group = groups.setdefault(match.group(1), [])
        elif (match := re.fullmatch(r"([a-z0-9][a-z0-9.+-]+) +# \S.*", line)) and group is not None:
            group.append(match.group(1))
        else:
            problems.append(f"scripts/packages.txt:{number}: expected 'package  # what for' in a [group]")
    return groups, problems


def documented(text):
    """The packages in the second column of the table."""
    names = set()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3 and not set(cells[2]) <= {"-"} and cells[2] != "package":
            names.update(name for name in re.split(r"[ ,`]+", cells[2]) if name)
    return names


def main():
    groups, problems = groups_of((ROOT / "scripts/packages.txt").read_text())
    listed = [name for group in groups.values() for name in group]
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        problems.append(f"scripts/packages.txt: {name} is listed twice")
    in_docs = documented((ROOT / "docs/dependencies.md").read_text())
    for name in sorted(in_docs - set(listed)):
        problems.append(f"docs/dependencies.md: {name} is not in scripts/packages.txt")
    for name in sorted(set(groups.get("build", [])) - in_docs):
        if name.endswith("-dev") or name.startswith("protobuf-"):
            problems.append(f"scripts/packages.txt: {name} is not in the table of docs/dependencies.md")
    expected = [name for group in ("build", "test", "demo") for name in groups.get(group, [])]
    for arguments, wanted in (([], expected), (["--lint"], expected + groups.get("lint", []))):
        run = [ROOT / "scripts/install-deps.sh", "--list", *arguments]
        shown = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
        if shown != wanted:
            problems.append(f"scripts/install-deps.sh --list {arguments}: {set(shown) ^ set(wanted)} differ")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"packages: {len(listed)} listed, {len(in_docs)} documented, {len(problems)} problems")
    return 1 if problems or not listed or not in_docs else 0


if __name__ == "__main__":
    sys.exit(main())
