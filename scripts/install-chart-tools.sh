#!/usr/bin/env bash
# What the tests of the chart need beside scripts/packages.txt's other groups, into build/tools: Helm, built from its Go module by the proxy that `go env`
# names (some minutes the first time; Go's own cache makes that of the next checkout a matter of seconds), and Debian's Prometheus with promtool, unpacked
# and not installed, because its package would start a server; and tests/chart/objects, which checks Kubernetes objects by Kubernetes' own types.
# Does nothing when they are there. Prints each program's path.
#
#   scripts/install-chart-tools.sh [helm] [objects] [prometheus]
#
# Exit code 3: something cannot be had here (no Go, no Debian archive); the tests that need it skip and say so.
set -euo pipefail
helm_version=v3.22.0
cd "$(dirname "$0")/.."
tools=$PWD/build/tools
missing=0
cannot() {
  echo "install-chart-tools: $1" >&2
  missing=3
}

install_helm() {
  local directory=$tools/helm-$helm_version started=$SECONDS
  if [ ! -x "$directory/helm" ]; then
    command -v go > /dev/null || { cannot "no Helm: there is no Go here to build it"; return; }
    echo "install-chart-tools: building Helm $helm_version with $(go env GOVERSION)" >&2
    mkdir -p "$directory"
    GOBIN=$directory GOFLAGS="$(go env GOFLAGS) -trimpath" go install \
      -ldflags "-s -w -X helm.sh/helm/v3/internal/version.version=$helm_version" "helm.sh/helm/v3/cmd/helm@$helm_version" >&2 ||
      { cannot "no Helm: its build failed"; return; }
    echo "install-chart-tools: built in $((SECONDS - started)) s" >&2
  fi
  ln -sfn "helm-$helm_version" "$tools/helm"
  echo "$tools/helm/helm"
}

install_objects() {
  if [ ! -x "$tools/objects" ] || [ -n "$(find tests/chart/objects -newer "$tools/objects" -type f)" ]; then
    command -v go > /dev/null || { cannot "no check of objects: there is no Go here to build it"; return; }
    # Flags as above: what both use is compiled once.
    (cd tests/chart/objects && GOFLAGS="$(go env GOFLAGS) -trimpath" go build -ldflags "-s -w" -o "$tools/objects" . >&2) ||
      { cannot "no check of objects: its build failed"; return; }
  fi
  echo "$tools/objects"
}

install_prometheus() {
  local directory=$tools/prometheus
  if [ ! -x "$directory/usr/bin/promtool" ]; then
    command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null || { cannot "no Prometheus: this is no Debian"; return; }
    local scratch=$tools/prometheus.new
    rm -rf "$scratch"
    mkdir -p "$scratch"
    if ! (cd "$scratch" && apt-get -q download prometheus >&2) && ! { apt-get -q update >&2 && (cd "$scratch" && apt-get -q download prometheus >&2); }; then
      cannot "no Prometheus: the Debian archive did not give the package"
      return
    fi
    dpkg-deb -x "$scratch"/prometheus_*.deb "$scratch"
    rm -rf "$scratch"/*.deb "$directory"
    mv "$scratch" "$directory"
  fi
  echo "$directory/usr/bin/prometheus"
  echo "$directory/usr/bin/promtool"
}

mkdir -p "$tools"
for tool in "${@:-all}"; do
  case $tool in
    helm) install_helm ;;
    objects) install_objects ;;
    prometheus) install_prometheus ;;
    all) install_helm; install_objects; install_prometheus ;;
    *) echo "usage: scripts/install-chart-tools.sh [helm] [objects] [prometheus]" >&2; exit 2 ;;
  esac
done
exit $missing
