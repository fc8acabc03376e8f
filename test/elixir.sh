#!/bin/sh
# Runs the suite of elixir/nx_vulkan_go and prints one outcome. It runs on the
# Elixir of this machine where that is of 1.17 or later, else on that of the
# first of the given roots, in a copy of what it needs.
#
#   test/elixir.sh ROOT:ROOT
#
#   NX_PATH   a checkout of Nx, with complex and telemetry beside it; without it
#             Hex is asked
cd "$(dirname "$0")/.."
skip() { echo "::skip the Nx suite: $*"; exit 0; }
recent() { "$@" elixir -e 'System.halt(if Version.match?(System.version(), ">= 1.17.0"), do: 0, else: 1)' >/dev/null 2>&1; }
has_hex() { "$@" mix local.hex --force --if-missing >/dev/null 2>&1; }

# outcome COMMAND...: the suite's own words where it fails, its last ones where
# it passes.
outcome() {
	if output=$("$@" 2>&1); then
		printf '%s\n' "$output" | tail -n 2
		echo "::pass the Nx suite"
	else
		printf '%s\n' "$output" | tail -n 400
		echo "::fail the Nx suite"
	fi
}

here=
recent && here=yes
root=${1%%:*}
[ -n "$here" ] || { [ -n "$root" ] && recent chroot "$root"; } ||
	skip "no Elixir of 1.17 or later here or in a root of a later Debian"
make -s build >&2 || { echo "::fail build the node for the Nx suite"; exit 0; }
[ -z "${NX_PATH:-}" ] || export HEX_OFFLINE=1
export MIX_ENV=test LANG=C.UTF-8 ERL_EPMD_ADDRESS=127.0.0.1

if [ -n "$here" ]; then
	has_hex || skip "Mix has no Hex and cannot fetch it"
	export NXVK_NODE="$PWD/bin/nxvk-node"
	cd elixir/nx_vulkan_go && outcome sh -c 'mix deps.get --only test >/dev/null && mix test'
	exit 0
fi

work=$(mktemp -d "$root/tmp/nxvk-suite-XXXXXX")
trap 'rm -rf "$work"' EXIT
inside=/tmp/${work##*/}
mkdir "$work/elixir" "$work/nx"
cp -r elixir/nx_vulkan_go "$work/elixir/"
rm -rf "$work"/elixir/nx_vulkan_go/_build "$work"/elixir/nx_vulkan_go/deps
cp -r bin/nxvk-node cmd "$work/"
for home in "${MIX_HOME:-}" "${HOME:-}/.mix"; do
	[ ! -d "$home/archives" ] || [ -d "$work/mix" ] || cp -r "$home" "$work/mix"
done
set -- chroot "$root" env HOME="$inside" MIX_HOME="$inside/mix" NXVK_NODE="$inside/nxvk-node"
if [ -n "${NX_PATH:-}" ]; then
	for package in "$NX_PATH" "$NX_PATH/../complex" "$NX_PATH/../telemetry"; do
		[ ! -d "$package" ] || cp -rL "$package" "$work/nx/$(basename "$package")"
	done
	set -- "$@" NX_PATH="$inside/nx/$(basename "$NX_PATH")"
fi
has_hex "$@" || skip "Mix has no Hex and cannot fetch it"
outcome "$@" sh -c "cd $inside/elixir/nx_vulkan_go && mix deps.get --only test >/dev/null && mix test"
