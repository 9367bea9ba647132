# shellcheck shell=bash
# SPDX-License-Identifier: EPL-2.0
# Makes a fresh Debian or Ubuntu machine ready: system packages, a virtual environment in .venv, XNNPACK in the user's
# cache. Sourced by the other scripts; what is there already is left alone, so a second run takes seconds.
#
# Variables that change what it does:
#   PYTHON              the Python to make .venv with (default: the first of python3, python3.13, ... that will do)
#   XNNPACK_FROM        github, debian or a checkout (default: github, and debian where that fails; in CI debian)
#   RISCV_TOOLCHAIN_ROOT   a RISC-V toolchain of your own: none is installed then

# Every system package that the project uses, apart from the RISC-V compiler (see choose_compiler).
PACKAGES_ALWAYS="ca-certificates g++ git make qemu-user"
PACKAGES_TEST="cppcheck g++-arm-linux-gnueabihf"

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LOG=$ROOT/build/setup.log

say() { printf '==> %s\n' "$*" >&2; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# step TEXT COMMAND...: runs a command that talks much; its output goes to the log, the seconds it takes to the terminal.
step() {
    local text=$1 start=$SECONDS job code=0
    shift
    mkdir -p "$(dirname "$LOG")"
    printf '==> %s ...' "$text" >&2
    printf '\n--- %s: %s\n' "$text" "$*" >>"$LOG"
    "$@" >>"$LOG" 2>&1 </dev/null &
    job=$!
    # An interrupted script takes its step along.
    trap 'kill "$job" 2>/dev/null; exit 130' INT TERM
    while [ -t 2 ] && kill -0 "$job" 2>/dev/null; do
        printf '\r==> %s ... %d s' "$text" $((SECONDS - start)) >&2
        sleep 1
    done
    wait "$job" || code=$?
    trap - INT TERM
    if [ "$code" -ne 0 ]; then
        printf ' failed\n' >&2
        tail -n 15 "$LOG" >&2
        die "$text failed with exit code $code; all of its output is in $LOG"
    fi
    if [ -t 2 ]; then
        printf '\r==> %s ... done in %d s\n' "$text" $((SECONDS - start)) >&2
    else
        printf ' done in %d s\n' $((SECONDS - start)) >&2
    fi
}

# ---- system packages -------------------------------------------------------------------------------------------------

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

known_to_apt() { [ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null)" ]; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=300 "$@"; }

# The packages of a RISC-V compiler that has the intrinsics of RVV 1.0; empty when apt knows none.
choose_compiler() {
    local version
    if [ -n "${RISCV_TOOLCHAIN_ROOT:-}" ]; then
        return
    fi
    for version in 14 15 16; do
        if known_to_apt "g++-$version-riscv64-linux-gnu"; then
            echo "g++-$version-riscv64-linux-gnu"
            return
        fi
    done
    # Debian 12: its gcc is too old, clang takes the C and C++ libraries from it.
    if known_to_apt clang-19 && known_to_apt g++-riscv64-linux-gnu; then
        echo "clang-19 lld-19 g++-riscv64-linux-gnu"
    fi
}

python_is_usable() {
    # Aidge 0.10.1 has wheels for these versions.
    "$1" -c 'import sys, ensurepip, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
        if command -v "$candidate" >/dev/null && python_is_usable "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
}

# install_packages PACKAGE...: installs what is missing of these, of the compiler's and of Python's.
install_packages() {
    local package compiler missing=""
    command -v apt-get >/dev/null ||
        die "there is no apt-get here: install g++, make, git, qemu-user, a RISC-V compiler (docs/troubleshooting.md) and" \
            "Python 3.10 to 3.13, pip install -e '.[test]' and run aidge-gk7206 doctor"
    compiler=$(choose_compiler)
    [ -n "$(find_python)" ] || set -- "$@" python3 python3-venv
    for package in "$@" $compiler; do
        installed "$package" || missing="$missing $package"
    done
    if [ -n "$missing" ] || { [ -z "$compiler" ] && [ -z "${RISCV_TOOLCHAIN_ROOT:-}" ]; }; then
        if [ "$(id -u)" -ne 0 ]; then
            command -v sudo >/dev/null ||
                die "these packages are missing, and there is no sudo: install as root$missing $compiler"
            say "Installing packages needs sudo:$missing"
            sudo -v || die "sudo was refused; these packages are missing:$missing"
        fi
        step "Reading the lists of packages" apt_get update
        compiler=$(choose_compiler)
        [ -n "$compiler" ] || [ -n "${RISCV_TOOLCHAIN_ROOT:-}" ] ||
            die "apt has no RISC-V compiler that is new enough (gcc 13, clang 17): set RISCV_TOOLCHAIN_ROOT to one, or use" \
                "Debian 12, Ubuntu 24.04 or newer"
        missing=""
        for package in "$@" $compiler; do
            installed "$package" || missing="$missing $package"
        done
        # shellcheck disable=SC2086 # a list of names
        [ -z "$missing" ] || step "Installing$missing" apt_get install --no-install-recommends $missing
    fi
}

# ---- Python ----------------------------------------------------------------------------------------------------------

# install_package EXTRA: the virtual environment, with this package and one of its extras, on the PATH.
install_package() {
    local extra=$1 python mark
    python=$(find_python)
    [ -n "$python" ] || die "no Python 3.10 to 3.13 with the modules venv and ensurepip (PYTHON=... names one)"
    # A moved checkout or other requirements make another environment.
    mark=$(printf '%s\n' "$ROOT" | cat - "$ROOT/pyproject.toml" | cksum)
    if ! "$ROOT/.venv/bin/python" -c '' 2>/dev/null || [ ! -f "$ROOT/.venv/root-$(printf '%s' "$ROOT" | cksum | tr ' ' -)" ]; then
        step "Making .venv with $python" "$python" -m venv --clear "$ROOT/.venv"
        touch "$ROOT/.venv/root-$(printf '%s' "$ROOT" | cksum | tr ' ' -)"
    fi
    export VIRTUAL_ENV=$ROOT/.venv PATH=$ROOT/.venv/bin:$PATH
    if [ "$(cat "$ROOT/.venv/installed-$extra" 2>/dev/null)" != "$mark" ]; then
        step "Installing Python packages into .venv" python -m pip install --disable-pip-version-check -e "$ROOT[$extra]"
        printf '%s\n' "$mark" >"$ROOT/.venv/installed-$extra"
    fi
}

# ---- XNNPACK ---------------------------------------------------------------------------------------------------------

# Whether the cache holds a build that exports for an architecture will use.
has_xnnpack() {
    aidge-gk7206 doctor --json | python -c '
import json, sys
wanted = "XNNPACK " + sys.argv[1]
sys.exit(not any(check["name"] == wanted and check["ok"] for check in json.load(sys.stdin)))' "$1"
}

# build_xnnpack ARCH...: builds XNNPACK where the cache has none.
build_xnnpack() {
    local arch source=${XNNPACK_FROM:-}
    if [ -z "$source" ] && [ -n "${CI:-}" ]; then
        source=debian
    fi
    for arch in "$@"; do
        if has_xnnpack "$arch"; then
            continue
        fi
        say "Building XNNPACK for $arch, which takes minutes, once"
        if [ -n "$source" ]; then
            aidge-gk7206 xnnpack build --arch "$arch" --from "$source" || die "there is no XNNPACK for $arch"
        elif ! aidge-gk7206 xnnpack build --arch "$arch" --from github; then
            say "GitHub did not give the pinned version: taking Debian's older one, whose RISC-V kernels are partly slower"
            aidge-gk7206 xnnpack build --arch "$arch" --from debian || die "there is no XNNPACK for $arch"
            source=debian
        fi
    done
}
