#!/bin/sh
# Installs what building, running and testing need and this machine lacks.
#
#   test/setup.sh run     what `make demo` needs
#   test/setup.sh test    that and what `make test` needs
#   test/setup.sh check   what building needs, and the tools by which `make check` looks
#                         at scripts, C and workflows
#
# It installs on Debian and Ubuntu; elsewhere it says what to install. It does
# nothing where everything is there.
set -eu

# Some of what is looked for lies where only administrators look.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

what=${1:-run}
missing= # packages to install, Debian's names
have() { command -v "$1" >/dev/null 2>&1; }
need() { # need PACKAGE TEST...: the package unless the test succeeds
	package=$1
	shift
	"$@" >/dev/null 2>&1 || missing="$missing $package"
}
header() { echo '#include <vulkan/vulkan_core.h>' | cc -E - ; }
# any FILE...: one of them is there, which a pattern that matches nothing is not.
any() { for file; do [ ! -e "$file" ] || return 0; done; return 1; }
icd() { any /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json /usr/local/share/vulkan/icd.d/*.json; }
validation() { any /usr/share/vulkan/explicit_layer.d/*validation* /usr/local/share/vulkan/explicit_layer.d/*validation*; }
loader() { [ "$(uname)" != Linux ] || ldconfig -p | grep -q 'libvulkan\.so\.1'; }
# erl_module MODULE: the Erlang installation has it.
erl_module() { have erl && erl -noshell -eval "case code:which($1) of non_existing -> halt(1); _ -> halt(0) end."; }

need gcc have cc
need libc6-dev sh -c 'echo "#include <stdio.h>" | cc -E -'
need libvulkan1 loader
need mesa-vulkan-drivers icd
need libvulkan-dev header
need erlang-nox have erl
if [ "$what" = test ]; then
	need erlang-ssl erl_module inet_tls_dist
	need vulkan-validationlayers validation
	need spirv-tools have spirv-val
	need glslang-tools have glslangValidator
	need bmake have bmake
	need musl any /lib/ld-musl-*.so.1
	[ "$(id -u)" != 0 ] || need debootstrap have debootstrap
elif [ "$what" = check ]; then
	need shellcheck have shellcheck
	need clang-format have clang-format
	need yamllint have yamllint
fi

# as_root COMMAND...: by sudo where this is not root already.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif have sudo; then
		sudo "$@"
	else
		echo "setup: run as root: $*" >&2
		exit 1
	fi
}

# go_usable: at least the release from which the Go tool fetches the one that
# go.mod names.
go_usable() { have go && [ "$(go env GOVERSION 2>/dev/null | sed 's/^go1\.\([0-9]*\).*/\1/')" -ge 21 ]; }
# packaged PACKAGE: the minor version, behind "1.", that apt would install, or
# nothing.
packaged() { apt-cache policy "$1" | sed -n 's/.*Candidate: [0-9]*:*1\.\([0-9]*\).*/\1/p'; }
# release: the system and the name of its release.
release() { sed -n 's/^ID=//p; s/^VERSION_CODENAME=/-/p' /etc/os-release | sort -r | tr -d '\n'; }

updated=
update() {
	[ -n "$updated" ] || as_root apt-get -qq update
	updated=yes
}

# want_elixir adds Elixir where the system has one that is recent enough for Nx.
# Without, the demo and the tests do what can be done in Erlang.
want_elixir() {
	[ -z "$missing" ] || update
	if [ "$(packaged elixir)" -ge 17 ] 2>/dev/null; then
		missing="$missing elixir erlang-dev ca-certificates"
	fi
}

# need_go adds the packages of Go, on Debian 12 those of its backports.
need_go() {
	update
	if [ "$(packaged golang-go)" -ge 21 ] 2>/dev/null; then
		missing="$missing golang-go ca-certificates"
	elif [ "$(release)" = debian-bookworm ]; then
		backports=bookworm-backports
		echo "setup: Go comes from $backports, by /etc/apt/sources.list.d/$backports.list"
		echo "deb http://deb.debian.org/debian $backports main" | as_root tee "/etc/apt/sources.list.d/$backports.list" >/dev/null
		updated=
		missing="$missing golang-go/$backports golang-src/$backports ca-certificates"
	else
		echo "setup: Go 1.21 or later is needed and this system has no package of it." >&2
		echo "setup: install it from go.dev/dl, then run this again." >&2
		exit 1
	fi
}

if ! have apt-get; then
	go_usable || missing="$missing golang-go"
	[ -n "$missing" ] || exit 0
	echo "setup: missing, by the names of Debian's packages:$missing" >&2
	case "$(uname)" in
	FreeBSD) echo "setup: pkg install go gcc gmake vulkan-loader vulkan-headers mesa-dri erlang elixir vulkan-validation-layers spirv-tools glslang" >&2 ;;
	Darwin) echo "setup: brew install go vulkan-loader vulkan-headers molten-vk erlang elixir spirv-tools glslang" >&2 ;;
	*) echo "setup: install what matches with this system's package manager" >&2 ;;
	esac
	exit 1
fi
go_usable || need_go
have elixir || want_elixir
[ -n "$missing" ] || exit 0
echo "setup: installing$missing"
update
# shellcheck disable=SC2086
as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
