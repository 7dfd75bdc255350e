#!/bin/sh
# The main job on real input: half a megabyte of output goes in, the lines that answer a question come out.
# Usage: uv run sh scripts/demo.sh        It works in a temporary folder and leaves nothing behind.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > raises.sh << 'EOF'
# every "raise" in Python's standard library
cd "$(python3 -c 'import os; print(os.path.dirname(os.__file__))')"
grep -rn 'raise ' --include='*.py' --exclude-dir=test --exclude-dir='*-packages' .
EOF

step() {
  printf '\n$ %s\n' "$1"
  eval "$1"
}

step 'export CAPY_DB_KEY="$(capy-store keygen)"'
step 'capy-exec shell raises.sh --label raises > run.json'
step 'wc -c < run.json'
step 'capy-store index --format text < run.json'
step 'capy-store search --format text --limit 5 "zip file wrong password" > answer.txt; cat answer.txt'
step 'wc -c < answer.txt'
