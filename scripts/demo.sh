#!/usr/bin/env bash
# SPDX-License-Identifier: EPL-2.0
# Exports a text direction classifier for the K230 and runs it under QEMU, from nothing: sets the machine up first.
# Arguments go to examples/k230_text_direction/run.py.
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

set_up demo riscv64
exec python "$ROOT/examples/k230_text_direction/run.py" "$@"
