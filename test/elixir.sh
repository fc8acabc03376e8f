#!/bin/sh
# Runs suites of Elixir and prints their outcomes: on the Elixir of this machine
# where that is of 1.17 or later, else on that of the first of the given roots, in
# a copy of what they need.
#
#   test/elixir.sh ROOT:ROOT          the suite of our own package
#   test/elixir.sh ROOT:ROOT others   those of Nx and of what is built on it
#   test/elixir.sh ROOT:ROOT lint     format, warnings of the compiler, Credo and ExDoc, no suite
#   test/elixir.sh ROOT:ROOT own device      either, with a node on this machine that
#   test/elixir.sh ROOT:ROOT others device   computes whatever its first device can, however
#                                            small, and interprets no kernel on the host
#
# Otherwise the suite starts a node of its own, which in a root finds no device, and
# computes small work on the host anywhere.
#
#   TEST_FULL the tests of our own package that take minutes run too: calibration
#             of the sampler by simulation, memory under many operations
#   JUNIT_FILE  where a report of the suite of our own package goes, in JUnit's XML
#   NX_PATH   a checkout of Nx, with complex and telemetry beside it, ExDoc for lint, and
#             optional libraries (KINO_PATH, …: their tests are skipped where they are not
#             there); without it Hex is asked. The suites of others need it
#   AXON_PATH, POLARIS_PATH, SCHOLAR_PATH, NX_SIGNAL_PATH, BUMBLEBEE_PATH, and of what
#   these need: COMPLEX_PATH, TELEMETRY_PATH, NIMBLE_OPTIONS_PATH, NX_IMAGE_PATH,
#   UNPICKLER_PATH, SAFETENSORS_PATH, JASON_PATH, UNZIP_PATH, PROGRESS_BAR_PATH,
#   DECIMAL_PATH, and of livebooks: TABLE_PATH, FSS_PATH, KINO_PATH, VEGA_LITE_PATH,
#   KINO_VEGA_LITE_PATH
#             checkouts whose suites, or livebooks, run too; each is looked for beside that of Nx
#             where its variable is not set, and one that is nowhere is said
cd "$(dirname "$0")/.." || exit 1
# What tests of optional libraries need; see elixir/nx_vulkan_go/mix.exs.
optional="kino table fss opentelemetry_api opentelemetry phoenix_live_dashboard phoenix_live_view phoenix phoenix_html"
optional="$optional phoenix_template phoenix_pubsub plug plug_crypto mime websock websock_adapter telemetry_metrics floki jason"
docs="ex_doc earmark_parser makeup makeup_elixir makeup_erlang nimble_parsec"
suite="the Nx suite" run=own beside="complex telemetry $optional" where=
if [ "${2:-}" = lint ]; then
	suite="Elixir's checks" run=lint
	beside="$beside $docs"
elif [ "${2:-}" = others ]; then
	suite="the suites of others" run=others
	beside="complex telemetry nimble_options polaris axon scholar nx_signal"
	beside="$beside bumblebee nx_image unpickler safetensors jason unzip progress_bar decimal"
	beside="$beside table fss kino vega_lite kino_vega_lite"
fi
[ "${3:-}" != device ] || { suite="$suite on a device" where="on a device: "; }
skip() { echo "::skip $suite: $*"; exit 0; }
recent() { "$@" elixir -e 'System.halt(if Version.match?(System.version(), ">= 1.17.0"), do: 0, else: 1)' >/dev/null 2>&1; }
has_hex() { "$@" mix local.hex --force --if-missing >/dev/null 2>&1; }
# has_rebar: rebar builds a package that Nx needs from Hex.
has_rebar() { [ -n "${NX_PATH:-}" ] || "$@" mix local.rebar --force --if-missing >/dev/null 2>&1; }

# outcome COMMAND...: the suite's own words where it fails, its last ones where
# it passes.
outcome() {
	if output=$("$@" 2>&1); then
		printf '%s\n' "$output" | tail -n 2
		echo "::pass $suite"
	else
		printf '%s\n' "$output" | tail -n 400
		echo "::fail $suite"
	fi
}

# own PREFIX...: our package's suite, with the command that runs Elixir.
own() {
	outcome "$@" JUNIT_FILE="$junit" sh -c "cd $inside/elixir/nx_vulkan_go && mix deps.get --only test >/dev/null &&
		elixir -r $inside/test/exunit_junit.exs -S mix test --formatter ExUnitJUnit --formatter ExUnit.CLIFormatter ${TEST_FULL:+--include soak}"
}

# lint PREFIX...: what needs no node, of both packages.
lint() {
	for package in nx_vulkan_go nx_vulkan; do
		suite="format and warnings of $package"
		outcome "$@" sh -c "cd $inside/elixir/$package && mix deps.get --only test >/dev/null &&
			mix format --check-formatted && mix compile --force --warnings-as-errors"
		suite="Credo on $package"
		output=$("$@" elixir "$inside/test/credo.exs" "$inside/elixir/$package" 2>&1)
		case $? in
		0) echo "::pass $suite" ;;
		75) echo "::skip $suite: $(printf '%s\n' "$output" | tail -n 1)" ;;
		*) printf '%s\n::fail %s\n' "$output" "$suite" ;;
		esac
	done
	documents "$@"
}

# documents PREFIX...: those of nx_vulkan_go are made without a warning.
documents() {
	suite="documents of nx_vulkan_go"
	if "$@" MIX_ENV=docs sh -c "cd $inside/elixir/nx_vulkan_go && mix deps.get" >/dev/null 2>&1; then
		outcome "$@" MIX_ENV=docs sh -c "cd $inside/elixir/nx_vulkan_go && mix docs --warnings-as-errors"
	else
		missing=
		for name in $docs; do
			[ -n "${NX_PATH:-}" ] && [ -d "$(checkout "$name")" ] || missing="$missing $name"
		done
		echo "::skip $suite: ExDoc cannot be fetched from Hex, and beside NX_PATH there is no$missing"
	fi
}

# variable NAME: what may say where the checkout of a package is.
variable() { printf %s_PATH "$1" | tr '[:lower:]' '[:upper:]'; }
# checkout NAME: its folder, whether it exists or not.
checkout() { eval "printf %s \"\${$(variable "$1"):-$NX_PATH/../$1}\""; }
# absent: says which packages are not here, whose suites are therefore not run.
absent() {
	for name in $beside; do
		[ -d "$(checkout "$name")" ] || echo "::skip $suite: no checkout of $name, which $(variable "$name") may name"
	done
}

# others PREFIX...: every file of every suite that is there; test/suites says of
# each whether it is as expected.
others() {
	absent
	"$@" sh -c "cd $inside/test/suites && mix suite" >"$list" 2>&1 ||
		{ cat "$list" && echo "::fail build $suite" && return; }
	grep -E '^[a-z_]+ [a-z0-9_/]+$' "$list" | while read -r name file; do
		output=$("$@" sh -c "cd $inside/test/suites && mix suite $name $file" 2>&1 </dev/null)
		# The warnings of compilers about these packages come first, each time.
		case $output in
		*::pass* | *::fail*) output=$(printf '%s\n' "$output" | sed -n '/^\(known:\|FAILED\|PASSED\|::\)/,$p') ;;
		*) output="$output
::fail $name $file: no outcome" ;;
		esac
		printf '%s\n' "$output" | tail -n 400 | sed "s/^::pass /&$where/; s/^::fail /&$where/"
	done
}

# device_node: a node for the suite on the first device, until this script ends. It says
# that it is ready, or ends.
device_node() {
	dir=$(mktemp -d)
	NXVK_TEST_SERVER=nxvk-suite-$$@127.0.0.1
	NXVK_TEST_COOKIE=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	export NXVK_TEST_SERVER NXVK_TEST_COOKIE NXVK_TEST_DEVICE=1
	(umask 077 && printf %s "$NXVK_TEST_COOKIE" >"$dir/cookie")
	mkfifo "$dir/ready"
	bin/nxvk-node run --name "$NXVK_TEST_SERVER" --cookie-file "$dir/cookie" --device 0 \
		--host-limit 1 --no-warm-up --log-level error >"$dir/ready" 2>"$dir/said" &
	node=$!
	exec 3<"$dir/ready"
	read -r _ <&3 || skip "no node on a device: $(tail -n 1 "$dir/said")"
}
# clean: what this script has made and started.
clean() {
	[ -z "${node:-}" ] || kill "$node" 2>/dev/null || :
	rm -rf "${dir:-}" "${work:-}" "${list:-}"
}

junit=${JUNIT_FILE:-/dev/null}
[ "$run" != others ] || [ -n "${NX_PATH:-}" ] || skip "NX_PATH names no checkout of Nx"
if [ -n "${NX_PATH:-}" ] && [ ! -f "$NX_PATH/nx/mix.exs" ]; then
	echo "NX_PATH=$NX_PATH is no checkout of Nx: it has no nx/mix.exs" >&2
	echo "::fail $suite: NX_PATH names no checkout of Nx"
	exit 0
fi
here=
recent && here=yes
root=${1%%:*}
[ -n "$here" ] || { [ -n "$root" ] && recent chroot "$root"; } ||
	skip "no Elixir of 1.17 or later here or in a root of a later Debian"
[ "$run" = lint ] || make -s build >&2 || { echo "::fail build the node for the Nx suite"; exit 0; }
[ -z "${NX_PATH:-}" ] || export HEX_OFFLINE=1
export MIX_ENV=test LANG=C.UTF-8 ERL_EPMD_ADDRESS=127.0.0.1

list=$(mktemp)
trap clean EXIT
trap 'exit 1' INT TERM
[ -z "$where" ] || device_node
if [ -n "$here" ]; then
	{ has_hex && has_rebar; } || skip "Mix lacks Hex or rebar3 and cannot fetch them"
	export NXVK_NODE="$PWD/bin/nxvk-node"
	inside=$PWD
	$run env
	exit 0
fi

work=$(mktemp -d "$root/tmp/nxvk-suite-XXXXXX")
inside=/tmp/${work##*/}
mkdir "$work/elixir" "$work/test" "$work/nx"
cp -r elixir/nx_vulkan_go elixir/nx_vulkan "$work/elixir/"
cp -r test/suites test/*.exs "$work/test/"
cp .credo.exs "$work/"
rm -rf "$work"/elixir/*/_build "$work"/elixir/*/deps "$work"/test/suites/_build
cp -r cmd "$work/"
[ "$run" = lint ] || cp bin/nxvk-node "$work/"
for home in "${MIX_HOME:-}" "${HOME:-}/.mix"; do
	[ ! -d "$home/archives" ] || [ -d "$work/mix" ] || cp -r "$home" "$work/mix"
done
set -- chroot "$root" env HOME="$inside" MIX_HOME="$inside/mix" NXVK_NODE="$inside/nxvk-node"
# A program finds itself by /proc, which a root has only while these commands run.
if unshare --mount-proc="$root/proc" true 2>/dev/null; then
	set -- unshare --mount-proc="$root/proc" "$@"
fi
if [ -n "${NX_PATH:-}" ]; then
	cp -rL "$NX_PATH" "$work/nx/nx"
	set -- "$@" NX_PATH="$inside/nx/nx"
	for name in $beside; do
		[ ! -d "$(checkout "$name")" ] || cp -rL "$(checkout "$name")" "$work/nx/$name"
		set -- "$@" "$(variable "$name")=$inside/nx/$name"
	done
fi
{ has_hex "$@" && has_rebar "$@"; } || skip "Mix lacks Hex or rebar3 and cannot fetch them"
[ -z "${JUNIT_FILE:-}" ] || junit=$inside/exunit.xml
$run "$@"
[ "$run" = others ] || [ ! -e "$work/exunit.xml" ] || cp "$work/exunit.xml" "$JUNIT_FILE"
