#!/usr/bin/env bash
# Hold what the tools find now against the committed reports in benchmarks/: exit 1 on a regression.
#
# Usage: bash scripts/check_benchmarks.sh            compare, as CI does
#        bash scripts/check_benchmarks.sh --renew    write new baselines and docs/benchmarks.md
#
# Speed is not part of it: it depends on the machine. Renew its figures by hand, when nothing else runs:
#        uv run capy-bench perf --out benchmarks/perf.json && uv run python scripts/write_benchmark_docs.py
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --renew ]; then
  for kind in quality reduction; do
    uv run capy-bench "$kind" --out "benchmarks/$kind.json" >/dev/null
    # the scores of single cases would make each baseline a megabyte; no comparison reads them
    uv run python -c 'import sys; from pathlib import Path; from capy_bench import compare, record
path = sys.argv[1]; record.write(Path(path), {**compare.read(path), "cases": []})' "benchmarks/$kind.json"
  done
  uv run python scripts/write_benchmark_docs.py
  exit
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
for kind in quality reduction; do
  uv run capy-bench "$kind" --out "$scratch/$kind.json" >/dev/null
  uv run capy-qualstat "benchmarks/$kind.json" "$scratch/$kind.json" || status=1
done
exit "$status"
