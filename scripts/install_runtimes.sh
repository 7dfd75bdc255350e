#!/usr/bin/env bash
# The programs that the tests of capy-exec run for real: eleven languages, and what their tests look at.
# Installs on Debian and its relatives, as root or with sudo, only what is missing; elsewhere it names what to install.
set -euo pipefail

have() { command -v "$1" >/dev/null 2>&1; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

packages=()
for pair in ruby:ruby php:php-cli Rscript:r-base-core elixir:elixir go:golang-go rustc:rustc perl:perl node:nodejs \
  npm:npm jq:jq git:git ps:procps pip:python3-pip; do
  have "${pair%%:*}" || packages+=("${pair#*:}")
done
if [ "${#packages[@]}" -gt 0 ]; then
  if ! have apt-get; then
    echo "install these yourself, under the names your system gives them: ${packages[*]}" >&2
    exit 1
  fi
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi
have tsx || have bun || as_root npm install --global --silent tsx
