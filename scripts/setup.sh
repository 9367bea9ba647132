# shellcheck shell=bash
# SPDX-License-Identifier: EPL-2.0
# Makes a fresh Debian or Ubuntu machine ready: system packages, a virtual environment in .venv, XNNPACK in the user's
# cache. Sourced by the other scripts; what is there already is left alone, so a second run takes seconds.
#
# Variables that change what it does:
#   PYTHON              the Python to make .venv with (default: the first of python3, python3.13, ... that will do)
#   XNNPACK_FROM        github, debian or a checkout (default: github, and debian where that fails; in CI debian)
#   RISCV_TOOLCHAIN_ROOT   a RISC-V toolchain of your own: none is installed then

# Every system package that the project uses; Python's are added where there is no Python that will do.
PACKAGES=(ca-certificates g++ git make qemu-user)
TEST_PACKAGES=(cppcheck g++-arm-linux-gnueabihf g++-riscv64-linux-gnu)
# Compilers with the intrinsics of RVV 1.0, the first that apt knows is taken. Debian 12's gcc is too old: clang takes
# the C and C++ libraries from it.
COMPILERS=(
    g++-14-riscv64-linux-gnu
    g++-15-riscv64-linux-gnu
    g++-16-riscv64-linux-gnu
    "clang-19 lld-19 g++-riscv64-linux-gnu"
)

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

all_installed() {
    local package
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || return 1
    done
}

all_known_to_apt() {
    local package
    for package in "$@"; do
        [ -n "$(apt-cache show --no-all-versions "$package" 2>/dev/null)" ] || return 1
    done
}

# first_compiler CHECK: the first set of packages in COMPILERS for which the check holds; nothing when there is none.
first_compiler() {
    local check=$1 packages
    for packages in "${COMPILERS[@]}"; do
        # shellcheck disable=SC2086 # a list of names
        if "$check" $packages; then
            echo "$packages"
            return
        fi
    done
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=300 "$@"; }

# install_packages PACKAGE...: installs what is missing of these, of a RISC-V compiler and of Python.
install_packages() {
    local package compiler=none missing=()
    command -v apt-get >/dev/null ||
        die "there is no apt-get here: install g++, make, git, qemu-user, gcc 13 or clang 17 for riscv64-linux-gnu and" \
            "Python 3.10 to 3.13 yourself, then pip install -e '.[test]' and ask aidge-gk7206 doctor"
    [ -n "$(find_python)" ] || set -- "$@" python3 python3-venv
    for package in "$@"; do
        all_installed "$package" || missing+=("$package")
    done
    [ -n "${RISCV_TOOLCHAIN_ROOT:-}" ] || compiler=$(first_compiler all_installed)
    if [ "${#missing[@]}" -eq 0 ] && [ -n "$compiler" ]; then
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "packages are missing and there is no sudo: run this once as root"
        say "Packages are missing, installing them takes sudo"
        sudo -v || die "packages are missing and sudo was refused"
    fi
    step "Reading the lists of packages" apt_get update
    if [ -z "$compiler" ]; then
        compiler=$(first_compiler all_known_to_apt)
        [ -n "$compiler" ] || die "apt has no RISC-V compiler that is new enough (gcc 13, clang 17):" \
            "set RISCV_TOOLCHAIN_ROOT to one, or use Debian 12, Ubuntu 24.04 or newer"
        # shellcheck disable=SC2206 # a list of names
        missing+=($compiler)
    fi
    step "Installing ${missing[*]}" apt_get install --no-install-recommends "${missing[@]}"
}

# ---- Python ----------------------------------------------------------------------------------------------------------

# The Python to make the virtual environment with, nothing when there is none. Aidge 0.10.1 has wheels for 3.10 to 3.13.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
        if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' \
            2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
}

# install_package EXTRA: the virtual environment with this package and one of its extras, on the PATH.
install_package() {
    local extra=$1 venv=$ROOT/.venv python wanted options=(--disable-pip-version-check)
    # A moved checkout needs a new environment, other requirements another installation.
    if ! "$venv/bin/python" -c '' 2>/dev/null || [ "$(cat "$venv/made-for" 2>/dev/null)" != "$venv" ]; then
        python=$(find_python)
        [ -n "$python" ] || die "no Python 3.10 to 3.13 with the modules venv and ensurepip: name one with PYTHON=..."
        step "Making .venv with $python" "$python" -m venv --clear "$venv"
        printf '%s\n' "$venv" >"$venv/made-for"
    fi
    export VIRTUAL_ENV=$venv PATH=$venv/bin:$PATH
    wanted=$(cksum <"$ROOT/pyproject.toml")
    if [ "$(cat "$venv/installed-$extra" 2>/dev/null)" != "$wanted" ]; then
        # The package that ships the demo's model does not admit Python 3.13; its model does not mind.
        python -c 'import sys; sys.exit(sys.version_info < (3, 13))' && options+=(--ignore-requires-python)
        step "Installing Python packages into .venv" python -m pip install "${options[@]}" -e "${ROOT}[$extra]"
        printf '%s\n' "$wanted" >"$venv/installed-$extra"
    fi
}

# ---- XNNPACK ---------------------------------------------------------------------------------------------------------

# missing_xnnpack ARCH...: those for which the cache holds no build that an export would take.
missing_xnnpack() {
    { aidge-gk7206 doctor --json || true; } | python -c '
import json, sys
found = {check["name"] for check in json.load(sys.stdin) if check["ok"]}
print(*(arch for arch in sys.argv[1:] if "XNNPACK " + arch not in found))' "$@"
}

# build_xnnpack ARCH...: builds XNNPACK where the cache has none.
build_xnnpack() {
    local arch source=${XNNPACK_FROM:-}
    if [ -z "$source" ] && [ -n "${CI:-}" ]; then
        source=debian
    fi
    for arch in $(missing_xnnpack "$@"); do
        say "Building XNNPACK for $arch: minutes, and only once"
        if [ -z "$source" ] && ! aidge-gk7206 xnnpack build --arch "$arch" --from github; then
            say "The pinned version could not be had from GitHub: taking Debian's, of 2024, some RISC-V kernels of which are slower"
            source=debian
        fi
        [ -z "$source" ] || aidge-gk7206 xnnpack build --arch "$arch" --from "$source" || die "there is no XNNPACK for $arch"
    done
}

# ----------------------------------------------------------------------------------------------------------------------

# set_up EXTRA ARCH...: everything for one of the package's extras, demo or test, and exports for these architectures.
set_up() {
    local extra=$1
    shift
    if [ "$extra" = test ]; then
        install_packages "${PACKAGES[@]}" "${TEST_PACKAGES[@]}"
    else
        install_packages "${PACKAGES[@]}"
    fi
    install_package "$extra"
    build_xnnpack "$@"
}
