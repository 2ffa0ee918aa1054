#!/usr/bin/env bash
# Builds every fuzz target (clang, libFuzzer, ASan, UBSan) and runs each for FUZZ_SECONDS (default 30). Corpora grow under build/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh --lint
seconds=${FUZZ_SECONDS:-30}
cmake --preset fuzz > /dev/null
targets=$(ninja -C build/fuzz -t targets all | sed -n 's/^\([^:/]*_fuzz\): phony$/\1/p')
cmake --build --preset fuzz -j"$(nproc)" --target $targets
for target in $targets; do
  binary=$(find build/fuzz -type f -name "$target" -perm -u+x | head -1)
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  echo "fuzz: $target for $seconds s"
  "$binary" -max_total_time="$seconds" -rss_limit_mb=2000 -print_final_stats=1 "$corpus"
done
