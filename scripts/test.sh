#!/usr/bin/env bash
# SPDX-License-Identifier: EPL-2.0
# Passes the tests, from nothing: sets the machine up first. Arguments go to pytest.
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

set_up test native riscv64 armv7
cd "$ROOT"

# check NAME COMMAND...: runs a check, says in one line that it failed.
check() {
    say "$1"
    "${@:2}" || die "$1 found something"
}

# tests NAME ARGUMENT...: runs pytest; that nothing was selected is no failure of this half.
passed=0
tests() {
    local code=0
    say "$1"
    python -m pytest "${@:2}" || code=$?
    case $code in
    0) passed=1 ;;
    5) ;;
    *) die "$1 failed (pytest's exit code is $code)" ;;
    esac
}

check "ruff" ruff check .
check "ruff's formatter" ruff format --check .
check "mypy" mypy
check "mypy of the examples" mypy examples/export_onnx.py
for example in k230_text_direction gk7206_pnet gk7206_from_onnx; do
    check "mypy of $example" mypy "examples/$example/run.py"
done
check "clang-format" find runtime simulator cmake tests benchmarks -name '*.[ch]pp' -exec clang-format --dry-run --Werror {} +
tests "Fast tests" -n "$(nproc)" -m "not slow" "$@"
tests "Slow tests" -n "$(nproc)" -m slow "$@"
[ "$passed" -eq 1 ] || die "pytest selected no test"
say "All passed"
