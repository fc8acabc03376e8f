#!/bin/sh
# Starts bin/nxvk-node on the best device of this machine and runs a program on
# it: test/demo/demo.exs on Nx where Elixir and Nx can be had, else
# test/demo/demo.erl, the same work through the messages alone.
#
#   NX_PATH   a checkout of Nx; without it Hex is asked
set -eu
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
node=
# The node goes before its folder.
end() { [ -z "$node" ] || { kill "$node" && wait "$node"; } 2>/dev/null || :; rm -rf "$dir"; }
trap end EXIT
trap 'exit 1' INT TERM

cookie=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
name=nxvk_demo_$$@127.0.0.1
(umask 077 && printf %s "$cookie" >"$dir/cookie")
bin/nxvk-node run --name "$name" --cookie-file "$dir/cookie" >"$dir/ready" 2>"$dir/log" &
node=$!
tries=0
until grep -qs '^nxvk ready' "$dir/ready"; do
	tries=$((tries + 1))
	if [ "$tries" -gt 300 ] || ! kill -0 "$node" 2>/dev/null; then
		cat "$dir/log" >&2
		exit 1
	fi
	sleep 0.1
done

# why_not_nx prints what keeps the Nx program from running here, and nothing
# where it can. Mix wants Hex also where every package is a folder.
why_not_nx() {
	command -v elixir >/dev/null || { echo "there is no Elixir here"; return; }
	elixir -e 'System.halt(if Version.match?(System.version(), ">= 1.17.0"), do: 0, else: 1)' >/dev/null 2>&1 ||
		{ echo "this Elixir is older than 1.17"; return; }
	mix local.hex --force --if-missing >/dev/null 2>&1 || { echo "Mix has no Hex and cannot fetch it"; return; }
	[ -z "${NX_PATH:-}" ] || return 0
	erl -noshell -eval 'case gen_tcp:connect("repo.hex.pm", 443, [], 5000) of {ok, _} -> halt(0); _ -> halt(1) end.' ||
		{ echo "Hex cannot be reached and NX_PATH is not set"; return; }
	# A package that Nx needs is built by rebar3.
	mix local.rebar --force --if-missing >/dev/null 2>&1 || echo "Mix has no rebar3 and cannot fetch it"
}

reason=$(why_not_nx)
if [ -z "$reason" ]; then
	echo "program  test/demo/demo.exs, on Nx"
	NXVK_SERVER=$name elixir --name "demo_$$@127.0.0.1" --cookie "$cookie" --hidden test/demo/demo.exs
else
	echo "program  test/demo/demo.erl, plain Erlang without Nx: $reason"
	erlc -o "$dir" test/demo/demo.erl test/cluster/nxvk_client.erl
	ERL_CRASH_DUMP_SECONDS=0 erl -noshell -name "demo_$$@127.0.0.1" -setcookie "$cookie" -pa "$dir" -s demo main "$name"
fi
