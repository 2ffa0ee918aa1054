#!/usr/bin/env bash
# The Debian packages that a built program needs at run time: those of the libraries that it links, and of FFmpeg's, which it opens when it
# meets a video (pipeline/video/ffmpeg.cc). For images and packages.
#
#   scripts/runtime-packages.sh build/release/cli/headrace
set -euo pipefail
program=$1
linked=$(ldd "$program" | awk '/not found/ { print "runtime-packages: " $1 " is missing" > "/dev/stderr"; exit 1 } $3 ~ /^\// { print $3 }')
opened=$(printf "/usr/lib/$(gcc -print-multiarch)/lib%s.so\n" avformat avcodec swscale avutil)
libraries=$(printf '%s\n' "$linked" "$opened" | xargs readlink -f | sort -u)
# With merged /usr the owner's list may have either path: both are asked for, and one is known.
owners=$(printf '%s\n' "$libraries" | sed 'p; s,^/usr/lib,/lib,' | xargs dpkg-query -S 2> /dev/null || true)
for library in $libraries; do
  case $owners in
    *": $library"* | *": ${library#/usr}"*) ;;
    *) echo "runtime-packages: no package owns $library" >&2; exit 1 ;;
  esac
done
printf '%s\n' "$owners" | sed 's/:.*//' | sort -u
