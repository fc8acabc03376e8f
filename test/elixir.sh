#!/bin/sh
# Runs the suite of elixir/nx_vulkan_go and prints one outcome. It runs on the
# Elixir of this machine, else in the first of the given roots, with the
# working tree and NX_PATH mounted inside.
#
#   test/elixir.sh ROOT:ROOT
#
#   NX_PATH   a checkout of Nx; without it Hex is asked
cd "$(dirname "$0")/.."
package=elixir/nx_vulkan_go
skip() { echo "::skip the Nx suite: $*"; exit 0; }

# suite ELIXIR-RUNNER...: the suite, with the node built here.
suite() {
	if output=$(cd "$package" && "$@" sh -c 'mix local.hex --force --if-missing >/dev/null 2>&1; mix test' 2>&1); then
		printf '%s\n' "$output" | tail -n 3
		echo "::pass the Nx suite"
	else
		printf '%s\n' "$output"
		echo "::fail the Nx suite"
	fi
}

# recent: whether an Elixir is of 1.17 or later.
recent() { "$@" elixir -e 'System.halt(if Version.match?(System.version(), ">= 1.17.0"), do: 0, else: 1)' >/dev/null 2>&1; }
reachable() { (exec 3<>/dev/tcp/repo.hex.pm/443) 2>/dev/null || curl -sfm 5 -o /dev/null https://repo.hex.pm/installs/hex-1.x.csv; }

[ -n "${NX_PATH:-}" ] || reachable || skip "Hex cannot be reached and NX_PATH is not set"
make -s build || { echo "::fail build for the Nx suite"; exit 0; }
NXVK_NODE=$PWD/bin/nxvk-node
export NXVK_NODE MIX_ENV=test

if recent; then
	suite
	exit 0
fi
root=${1%%:*}
[ -n "$root" ] && [ "$(id -u)" = 0 ] || skip "no Elixir of 1.17 or later here, and no root of a later Debian"
skip "the Elixir of this machine is older than 1.17; run it where a later one is"
