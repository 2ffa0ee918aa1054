#!/usr/bin/env bash
# Style, static analysis and the arrows. Usage: scripts/lint.sh BUILD_DIR [--all]
# The build is gcc's: warnings that only gcc knows are no finding. clang-tidy looks at the sources that differ from origin/main (or HEAD~1); --all looks at every one.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/dev}
tool() { command -v "$1-19" || command -v "$1" || { echo "lint: $1 is not installed; run scripts/install-deps.sh --lint" >&2; exit 1; }; }
format=$(tool clang-format)
tidy=$(tool clang-tidy)

git ls-files '*.cc' '*.h' | xargs "$format" --dry-run -Werror
/usr/bin/python3 tests/arrows/check_arrows.py
if [ "${2:-}" = --all ]; then
  files=$(git ls-files '*.cc')
else
  base=$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD~1 2>/dev/null || git rev-parse HEAD)
  files=$(git diff --name-only --diff-filter=d "$base" -- '*.cc')
fi
[ -z "$files" ] || echo "$files" | xargs -P"$(nproc)" -n 4 "$tidy" -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option
echo "lint: clean"
