#!/usr/bin/env bash
# Installs what building, testing and the demo need, from Debian 12's own archive: scripts/packages.txt says what and why.
# Does nothing, in some milliseconds, when all of it is there.
#
#   scripts/install-deps.sh          groups build, test and demo
#   scripts/install-deps.sh --lint   and lint
#   scripts/install-deps.sh --build  group build alone
#   scripts/install-deps.sh --list   prints the packages and installs nothing
set -euo pipefail
list=$(dirname "$0")/packages.txt
groups=" build test demo "
only_list=
for argument in "$@"; do
  case $argument in
    --lint) groups+="lint " ;;
    --build) groups=" build " ;;
    --list) only_list=1 ;;
    *) echo "usage: scripts/install-deps.sh [--lint | --build] [--list]" >&2; exit 2 ;;
  esac
done

# "package why" of the wanted groups.
wanted() {
  awk -v groups="$groups" '
    /^\[/ { on = index(groups, " " substr($1, 2, length($1) - 2) " "); next }
    on && NF && !/^#/ { name = $1; sub(/^[^#]*# */, ""); print name, $0 }' "$list"
}
# No process substitution in this script: a chroot may have no /dev/fd.
read -ra packages <<< "$(wanted | cut -d' ' -f1 | tr '\n' ' ')"
if [ -n "$only_list" ]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

# Those of "$@" that are not installed, on one line.
missing_of() {
  local installed name
  installed=" $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | tr '\n' ' ' || true)"
  for name in "$@"; do
    case $installed in *" $name "*) ;; *) printf '%s ' "$name" ;; esac
  done
}
cannot() {
  echo "install-deps: $1" >&2
  echo "install-deps: these packages are needed: ${packages[*]}" >&2
  exit 1
}

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
  cannot "this is no Debian (no dpkg and apt-get): use Debian 12, for instance in a container"
fi
read -ra missing <<< "$(missing_of "${packages[@]}")"
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
  packages=("${missing[@]}")
  cannot "packages are missing and installing needs root: run 'sudo scripts/install-deps.sh${*:+ $*}'"
fi
echo "install-deps: installing ${#missing[@]} packages:"
wanted | while read -r name why; do
  case " ${missing[*]} " in *" $name "*) printf '  %-24s %s\n' "$name" "$why" ;; esac
done

export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
# Packages without a candidate: the lists are empty or old.
without_candidate() {
  local candidates name
  candidates=" $(apt-cache policy "${missing[@]}" 2>/dev/null |
    awk '/^[^ ]/ { name = $1; sub(/:$/, "", name) } /^  Candidate: [^(]/ { print name }' | tr '\n' ' ')"
  for name in "${missing[@]}"; do
    case $candidates in *" $name "*) ;; *) printf '%s ' "$name" ;; esac
  done
}
if [ -n "$(without_candidate)" ]; then
  "${apt[@]}" update
  unknown=$(without_candidate)
  if [ -n "$unknown" ]; then
    . /etc/os-release
    packages=("${missing[@]}")
    cannot "${PRETTY_NAME:-this system} has no package ${unknown% }: Debian 12 (bookworm, main) has them all"
  fi
fi
install() { "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; }
if ! install; then
  echo "install-deps: trying again with fresh package lists" >&2  # the archive has moved on: 404
  "${apt[@]}" update
  install
fi
read -ra missing <<< "$(missing_of "${missing[@]}")"
if [ ${#missing[@]} -gt 0 ]; then
  packages=("${missing[@]}")
  cannot "apt-get reported success, but some are still missing"
fi
