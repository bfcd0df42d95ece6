#!/usr/bin/env bash
# Runs every fuzz target of the module for a short while each: FUZZTIME (default 3s).
set -euo pipefail
fuzztime=${FUZZTIME:-3s}
grep -rl --include='*_test.go' '^func Fuzz' . | grep -v -e '^./bench/' -e '^./tools/' | xargs -r -n1 dirname | sort -u | while read -r dir; do
  grep -h '^func Fuzz' "$dir"/*_test.go | sed -E 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/' | sort -u | while read -r target; do
    echo "fuzz $dir $target"
    go test -run='^$' -fuzz="^$target\$" -fuzztime="$fuzztime" -fuzzminimizetime=10x "$dir" >/tmp/fuzz.$$ 2>&1 || { cat /tmp/fuzz.$$; rm -f /tmp/fuzz.$$; exit 1; }
    rm -f /tmp/fuzz.$$
  done
done
