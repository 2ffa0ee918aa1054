#!/usr/bin/env bash
# A kube-apiserver for tests/kubernetes, built from Kubernetes' own Go modules by the proxy that `go env` names: into build/tools, once (ten minutes of CPU time, 120 MB).
# Prints its path. etcd is Debian's (scripts/packages.txt).
#
#   scripts/install-kubernetes.sh
#
# Exit code 3: it cannot be had here (no Go); the tests that need it skip and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
module=tests/kubernetes/apiserver
version=$(sed -n 's#^\s*k8s.io/kubernetes \(v[0-9.]*\)$#\1#p' "$module/go.mod")
tools=$PWD/build/tools
program=$tools/kube-apiserver-$version
if [ ! -x "$program" ]; then
  command -v go > /dev/null || { echo "install-kubernetes: no kube-apiserver: there is no Go here to build it" >&2; exit 3; }
  echo "install-kubernetes: building kube-apiserver $version with $(go env GOVERSION): about ten minutes" >&2
  mkdir -p "$tools"
  started=$SECONDS
  numbers=${version#v}
  flags="-s -w"
  for part in gitVersion="$version" gitMajor="${numbers%%.*}" gitMinor="$(cut -d. -f2 <<< "$numbers")"; do
    flags+=" -X k8s.io/component-base/version.$part"
  done
  (cd "$module" && GOFLAGS="$(go env GOFLAGS) -trimpath" go build ${JOBS:+-p "$JOBS"} -ldflags "$flags" -o "$program.new" . >&2) ||
    { echo "install-kubernetes: no kube-apiserver: its build failed" >&2; exit 3; }
  mv "$program.new" "$program"
  echo "install-kubernetes: built in $((SECONDS - started)) s" >&2
fi
ln -sfn "kube-apiserver-$version" "$tools/kube-apiserver"
echo "$tools/kube-apiserver"
