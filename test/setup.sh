#!/bin/sh
# Installs what building, running and testing need and this machine lacks.
#
#   test/setup.sh run     what `make demo` needs
#   test/setup.sh test    that and what `make test` needs
#
# It installs on Debian and Ubuntu; elsewhere it says what to install. It does
# nothing where everything is there.
set -eu

what=${1:-run}
missing= # packages to install, Debian's names
have() { command -v "$1" >/dev/null 2>&1; }
need() { # need PACKAGE TEST...: the package unless the test succeeds
	package=$1
	shift
	"$@" >/dev/null 2>&1 || missing="$missing $package"
}
header() { echo '#include <vulkan/vulkan_core.h>' | cc -E - ; }
icd() { ls /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json /usr/local/share/vulkan/icd.d/*.json 2>/dev/null | grep -q .; }
validation() { ls /usr/share/vulkan/explicit_layer.d/*validation* /usr/local/share/vulkan/explicit_layer.d/*validation* 2>/dev/null | grep -q .; }
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
	need erlang-dev erl_module inet_tls_dist
	need vulkan-validationlayers validation
	need spirv-tools have spirv-val
	need glslang-tools have glslangValidator
	[ "$(id -u)" != 0 ] || need debootstrap have debootstrap
fi

# go_usable: at least the release from which the Go tool fetches the one that go.mod names.
go_usable() { have go && [ "$(go env GOVERSION 2>/dev/null | sed 's/^go1\.\([0-9]*\).*/\1/')" -ge 21 ]; }
if ! go_usable; then
	case "$(apt-cache policy golang-go 2>/dev/null | sed -n 's/.*Candidate: [0-9]*:*1\.\([0-9]*\).*/\1/p')" in
	2[1-9] | [3-9][0-9]) missing="$missing golang-go ca-certificates" ;;
	*)
		echo "setup: Go 1.21 or later is needed and this system has no package of it." >&2
		echo "setup: install it from go.dev/dl, then run this again." >&2
		exit 1
		;;
	esac
fi

[ -n "$missing" ] || exit 0
if ! have apt-get; then
	echo "setup: missing, by the names of Debian's packages:$missing" >&2
	case "$(uname)" in
	FreeBSD) echo "setup: pkg install go gcc gmake vulkan-loader vulkan-headers mesa-dri erlang elixir vulkan-validation-layers spirv-tools glslang" >&2 ;;
	Darwin) echo "setup: brew install go vulkan-loader vulkan-headers molten-vk erlang elixir spirv-tools glslang" >&2 ;;
	*) echo "setup: install what matches with this system's package manager" >&2 ;;
	esac
	exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then
	sudo=sudo
	have sudo || { echo "setup: run as root: apt-get install$missing" >&2; exit 1; }
fi
echo "setup: installing$missing"
$sudo apt-get -qq update
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $sudo apt-get -qq install -y --no-install-recommends $missing >/dev/null
