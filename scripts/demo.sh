#!/usr/bin/env bash
# The demo: a dispatcher and two worker processes on this machine, two epochs of real photographs. Usage: demo.sh BUILD_DIR
set -euo pipefail
cd "$(dirname "$0")/.."
headrace=$1/cli/headrace
data=demo-data

if [ ! -f $data/.done ]; then
  /usr/bin/python3 scripts/make-demo-data.py $data/tiles
  "$headrace" convert $data/tiles "$data/tiles.tfrecord" --shards 8 --seed 1
  touch $data/.done
fi
exec "$headrace" run configs/pipelines/images_tfrecord.yaml --workers 2 --epochs 2
