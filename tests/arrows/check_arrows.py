#!/usr/bin/env python3
"""Fails on an import against the arrows of docs/design/001-rooms.md, on a file over its length, and on a type that is defined twice.

    check_arrows.py [--source DIR]    every violation in one line: FILE:LINE: what, and what to do
    check_arrows.py --self-test       plants violations in a tree of its own and looks for each

A room may import rooms of lower levels, never one of its own level or above. Two types of one name in one namespace are undefined
behaviour in a program that has both (the linker keeps one of their templates and inline functions), and no compiler sees it.
"""
import argparse
import os
import re
import sys
import tempfile

# Lowest first. tests and bench may import everything; nothing imports them.
ROOMS = [
    {"proto"},
    {"common"},
    {"element"},
    {"rpc", "pipeline", "cache", "transport"},
    {"dispatcher", "worker", "orchestrator", "client"},
    {"embedded"},  # a dispatcher and workers in one process
    {"cli", "python"},
    {"bench", "tests"},
]
# Folders within a room, lowest first; "" is the room's own files, which every folder of it may import.
FOLDERS = {
    "common": [{""}, {"logging"}, {"config", "sync"}, {"http", "process"}, {"metrics", "role"}],
    "pipeline": [
        {""},
        {"audio", "collate", "graph", "imaging", "record", "sources", "splits", "video"},
        {"expression", "tokenizer"},
        {"formats", "udf"},
        {"ops"},
        {"passes"},
        {"catalog", "docs"},
        {"engine", "ordering"},
    ],
    "orchestrator": [
        {""},
        {"observation"},
        {"decision"},
        {"autoscale", "placement", "capacity", "sharing", "tiering"},  # policies: pure functions
        {"drivers", "pipelines", "timeline"},
        {"loop"},
        {"role"},
        {"simulator"},
    ],
}
# Libraries that stay behind one folder of ours.
CONFINED = {
    "spdlog/": "common/logging/",
    "prometheus/": "common/metrics/",
    "sndfile.h": "pipeline/audio/",
    "soxr.h": "pipeline/audio/",
    "kiss_fft.h": "pipeline/audio/",
    "libav": "pipeline/video/",
    "libsw": "pipeline/video/",
    "rocksdb/": "dispatcher/journal/",
}

MAX_LINES = {".h": 250, ".cc": 500}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
NAMESPACE = re.compile(r"^(?:inline )?namespace\s*([\w:]*)\s*\{(?!.*\})")
NAMESPACE_END = re.compile(r"^\}\s*//.*namespace")
TYPE = re.compile(r"^(?:struct|class|enum class|union)\s+(?:\[\[\w+\]\]\s+|ABSL_\w+(?:\([^)]*\))?\s+)?(\w+)\b(?!::)[^;]*$")


def level_of(levels, name):
    for level, names in enumerate(levels):
        if name in names:
            return level
    return None


def room_of(path):
    """The room that a path from the repository's root lies in. Generated protobuf headers are proto's."""
    if path.startswith("client/python/"):
        return "python"  # bindings see what the command line sees
    first = path.split("/", 1)[0]
    return "proto" if first == "headrace" else first


def folder_of(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def check_include(path, target):
    """What is wrong with `path` including `target`, or None."""
    room, other = room_of(path), room_of(target)
    level, other_level = level_of(ROOMS, room), level_of(ROOMS, other)
    if other_level is None:
        return None  # an outside library
    if level is None:
        return f"'{room}' is no room: add it to ROOMS in tests/arrows/check_arrows.py"
    if room != other:
        if level == len(ROOMS) - 1 and other_level < level:
            return None
        if other_level < level:
            return None
        where = "beside" if other_level == level else "above"
        return f"{room} must not import {other}, which is {where} it (docs/design/001-rooms.md)"
    if room not in FOLDERS:
        return None
    folder, other_folder = folder_of(path), folder_of(target)
    if folder == other_folder:
        return None
    level = level_of(FOLDERS[room], folder)
    other_level = level_of(FOLDERS[room], other_folder)
    for name, found in ((folder, level), (other_folder, other_level)):
        if found is None:
            return f"'{room}/{name}' has no place: add it to FOLDERS in tests/arrows/check_arrows.py"
    if other_level < level:
        return None
    return f"{room}/{folder} must not import {room}/{other_folder}: the order is {FOLDERS[room][1:]}"


def check_file(root, path):
    problems = []
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    limit = MAX_LINES[os.path.splitext(path)[1]]
    if len(lines) > limit:
        problems.append(f"{path}:{limit + 1}: {len(lines)} lines; at most {limit}: split it")
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        problem = None
        for library, home in CONFINED.items():
            if target.startswith(library) and not path.startswith(home):
                problem = f"<{target}> stays behind {home}: use its header"
        beside = os.path.join(os.path.dirname(path), target)
        if quote == '"' and not os.path.exists(os.path.join(root, target)):
            if os.path.exists(os.path.join(root, beside)):
                problem = f'include from the root of the repository: "{os.path.normpath(beside)}"'
        if quote == '"' and problem is None:
            problem = check_include(path, target)
        if problem is not None:
            problems.append(f"{path}:{number}: {problem}")
    return problems


def types_of(root, path):
    """Line and name, with namespaces, of each type that the file defines for others to see."""
    inside, specialized = [], False
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if match := NAMESPACE.match(line):
                inside.append(match.group(1) or "(anonymous)")
            elif NAMESPACE_END.match(line) and inside:
                inside.pop()
            elif (match := TYPE.match(line)) and "(anonymous)" not in inside and not specialized:
                yield number, "::".join(inside + [match.group(1)])
            specialized = line.startswith("template <>") and not TYPE.match(line)


def check_types(root, paths):
    first, problems = {}, []
    for path in paths:
        for number, name in types_of(root, path):
            other = first.setdefault(name, path)
            if other != path:
                problems.append(f"{path}:{number}: {name} is defined in {other} too: rename one, or put it into an anonymous namespace")
    return problems


def sources(root):
    """Every .h and .cc of every room, as paths from `root`."""
    for room in sorted(name for level in ROOMS for name in level):
        for folder, folders, files in os.walk(os.path.join(root, room)):
            folders[:] = sorted(
                f for f in folders if not f.startswith(".") and f not in ("build", "node_modules", "__pycache__")
            )
            for name in sorted(files):
                if os.path.splitext(name)[1] in MAX_LINES:
                    yield os.path.relpath(os.path.join(folder, name), root)


def check(root):
    paths, problems = list(sources(root)), []
    for path in paths:
        problems += check_file(root, path)
    problems += check_types(root, paths)
    if not paths:
        problems.append(f"{root}: no sources found: is it the repository's root?")
    return len(paths), problems


# What the self-test plants: file, content, and what must be said of it (None: nothing).
PLANTED = [
    ("common/status.h", "#pragma once\n", None),
    ("common/logging/logging.cc", '#include <spdlog/logger.h>\n#include "common/status.h"\n', None),
    ("worker/good.cc", '#include "pipeline/engine/e.h"\n#include "headrace/v1/worker.pb.h"\n#include "absl/x.h"\n', None),
    ("tests/e2e/any.cc", '#include "worker/a.h"\n#include "cli/b.h"\n', None),
    ("bench/a.cc", '#include "dispatcher/a.h"\n', None),
    ("pipeline/ops/good.cc", '#include "pipeline/graph/op.h"\n', None),
    ("common/bad.h", '#pragma once\n\n#include "element/block.h"\n', ":3: common must not import element"),
    ("worker/bad.cc", '#include "dispatcher/state.h"\n', ":1: worker must not import dispatcher, which is beside it"),
    ("cache/bad.cc", '  #  include "pipeline/graph/op.h"\n', ":1: cache must not import pipeline"),
    ("rpc/bad.cc", '#include "cli/command.h"\n', ":1: rpc must not import cli, which is above it"),
    ("cli/bad.cc", '#include "tests/e2e/cluster.h"\n', ":1: cli must not import tests"),
    ("tests/bad.cc", '#include "bench/a.h"\n', ":1: tests must not import bench"),
    ("pipeline/graph/bad.cc", '#include "pipeline/ops/x.h"\n', ":1: pipeline/graph must not import pipeline/ops"),
    ("pipeline/sources/bad.cc", '#include "pipeline/graph/op.h"\n', ":1: pipeline/sources must not import"),
    ("pipeline/attic/bad.cc", '#include "pipeline/graph/op.h"\n', ":1: 'pipeline/attic' has no place"),
    ("common/bad.cc", '#include "common/sync/executor.h"\n', ":1: common/ must not import common/sync"),
    ("worker/log.cc", "#include <spdlog/spdlog.h>\n", ":1: <spdlog/spdlog.h> stays behind common/logging/"),
    ("worker/beside.h", "#pragma once\n", None),
    ("worker/relative.cc", '#include "beside.h"\n', ':1: include from the root of the repository: "worker/beside.h"'),
    ("element/long.h", "//\n" * 251, ":251: 251 lines; at most 250"),
    ("element/fits.h", "//\n" * 250, None),
    ("element/long.cc", "//\n" * 501, ":501: 501 lines; at most 500"),
    ("cache/part.h", "namespace headrace {\nstruct Part {\n};\nclass Whole;\n}  // namespace headrace\n", None),
    ("cache/other.h", "namespace headrace::other {\nstruct Part {};\n}  // namespace headrace::other\n", None),
    ("cache/own.cc", "namespace headrace {\nnamespace {\nstruct Part {};\n}  // namespace\nclass Whole {};\n}  // namespace headrace\n", None),
    ("pipeline/graph/part.h", "namespace headrace {\nclass Part final\n    : public Whole {\n", ":2: headrace::Part is defined in cache/part.h too"),
]


def self_test():
    with tempfile.TemporaryDirectory() as root:
        for path, content, _ in PLANTED:
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(content)
        checked, problems = check(root)
        assert checked == len(PLANTED), (checked, len(PLANTED))
        for path, _, expected in PLANTED:
            about = [p for p in problems if p.startswith(path + ":")]
            if expected is None:
                assert not about, about
            else:
                assert len(about) == 1 and about[0].startswith(path + expected), (path, expected, about)
    with tempfile.TemporaryDirectory() as empty:
        assert check(empty)[1], "an empty tree must not pass"
    print(f"self-test: {sum(1 for p in PLANTED if p[2])} planted violations found, nothing else")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--source", default=os.path.normpath(os.path.join(here, "..", "..")))
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return 0
    checked, problems = check(arguments.source)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"arrows: {checked} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
