package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxExposure is the largest exposure of the unit: systemd-analyze gives up to 100.
const maxExposure = "20"

// A pre-release sorts before its release.
func TestDebianVersion(t *testing.T) {
	if got := debianVersion("0.2.0-rc.1"); got != "0.2.0~rc.1" {
		t.Error(got)
	}
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("no dpkg")
	}
	if err := exec.Command("dpkg", "--compare-versions", debianVersion("0.2.0-rc.1"), "lt", debianVersion("0.2.0")).Run(); err != nil {
		t.Error(err)
	}
}

// checkPackage looks at the fields and files of a package.
func checkPackage(t *testing.T, deb, version string) {
	fields, err := output("", nil, "dpkg-deb", "--field", deb, "Version", "Architecture", "Depends")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Version: " + debianVersion(version), "Architecture: amd64", "libc6 (>= " + glibc + ")"} {
		if !strings.Contains(fields, want) {
			t.Errorf("the fields have no %q:\n%s", want, fields)
		}
	}
	list, err := output("", nil, "dpkg-deb", "--contents", deb)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`-rwxr-xr-x root/root .* \./usr/bin/nxvk-node`, `-rw-r--r-- root/root .* \./usr/lib/systemd/system/nxvk-node\.service`,
		`-rw-r--r-- root/root .* \./etc/default/nxvk-node`, `drwxr-xr-x root/root .* \./etc/`,
		`\./usr/share/doc/nxvk-node/copyright`, `\./usr/share/doc/nxvk-node/licenses/std/LICENSE`,
	} {
		if !regexp.MustCompile(`(?m)` + want + `$`).MatchString(list) {
			t.Errorf("the package has no %s:\n%s", want, list)
		}
	}
}

// checkUnit has systemd-analyze verify the unit, with the program where the package is
// unpacked, and measure how far it is open.
func checkUnit(t *testing.T, deb string) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd-analyze (Debian: apt-get install systemd)")
	}
	root := t.TempDir()
	if _, err := output("", nil, "dpkg-deb", "--extract", deb, root); err != nil {
		t.Fatal(err)
	}
	unit, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system/nxvk-node.service"))
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(root, "nxvk-node.service")
	text := strings.Replace(string(unit), "ExecStart=/usr/bin/", "ExecStart="+root+"/usr/bin/", 1)
	if err := os.WriteFile(here, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", here},
		{"security", "--offline=true", "--threshold=" + maxExposure, here},
	} {
		cmd := exec.Command("systemd-analyze", args...)
		cmd.Env = append(os.Environ(), "SYSTEMD_PAGER=")
		out, err := cmd.CombinedOutput()
		// What systemd does not know it only tells.
		if err != nil || args[0] == "verify" && strings.Contains(string(out), "nxvk-node.service") {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}

// checkInstalled installs the package in Debian, runs the program there, and purges the
// package.
func checkInstalled(t *testing.T, deb, version string) {
	out := inDebian(t, `
dpkg -i ./*.deb
nxvk-node --version
id nxvk
dpkg --verify nxvk-node
dpkg --purge nxvk-node
! getent passwd nxvk
! test -e /usr/bin/nxvk-node
! test -e /etc/default/nxvk-node
`, deb)
	for _, want := range []string{"nxvk-node " + version + "+", "(video)", "(render)"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output has no %q:\n%s", want, out)
		}
	}
}

// maxContainer is the number of MiB that the files of the container may have.
const maxContainer = 100

// checkContainer makes the folder that the container has, and runs the program in it as the
// container's user.
func checkContainer(t *testing.T, archive, version string) {
	out := inDebian(t, `
mkdir context
tar -xzf ./*.tar.gz -C context
sh rootfs.sh "$PWD/rootfs"
cp context/nxvk-node rootfs/usr/bin/
chroot --userspec=65532:65532 rootfs /usr/bin/nxvk-node --version
size=$(du -sm rootfs | cut -f 1)
echo "size $size MiB"
test "$size" -le `+fmt.Sprint(maxContainer)+`
test -e rootfs/usr/lib/x86_64-linux-gnu/libvulkan.so.1
`, archive, "../container/rootfs.sh")
	t.Logf("%s", out[strings.LastIndex(out, "size "):])
	if want := "nxvk-node " + version + "+"; !strings.Contains(out, want) {
		t.Errorf("the output has no %q:\n%s", want, out)
	}
}

// inDebian runs a script over a root of Debian, whose own files stay as they are. The script
// begins in a folder of its own with the given files, and resolves names as this machine
// does. inDebian returns what it prints.
func inDebian(t *testing.T, script string, files ...string) string {
	t.Helper()
	enter := `set -eu
lower=$1 over=$2 script=$3
shift 3
mkdir "$over/upper" "$over/work" "$over/tree"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$over/upper,workdir=$over/work" "$over/tree" || exit 75
here=$(chroot "$over/tree" mktemp -d)
cp "$@" "$over/tree$here/"
cp -L /etc/resolv.conf /etc/hosts "$over/tree/etc/"
DEBIAN_FRONTEND=noninteractive chroot "$over/tree" sh -euc "cd $here; $script"`
	return unshare(t, append([]string{"--mount", "sh", "-c", enter, "sh", debianRoot(t), t.TempDir(), script}, files...)...)
}

// debianRoot is a root of Debian 13, which test/roots.sh has made.
func debianRoot(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a root of Debian takes the user root")
	}
	root, err := exec.Command("../../test/roots.sh", "trixie", "present").Output()
	if err != nil {
		t.Skip(string(root))
	}
	return strings.TrimSpace(string(root))
}

// unshare runs a command in namespaces and returns what it prints. A command that ends with
// 75 cannot run on this kernel.
func unshare(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("unshare", args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 75 {
		t.Skip(string(out))
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// checkBooted boots systemd with the package: the service must serve lavapipe with all that
// the unit forbids, and end well.
func checkBooted(t *testing.T, deb string) {
	root, over := debianRoot(t), t.TempDir()
	unshare(t, "--mount", "testdata/boot.sh", "install", root, over, deb)
	unshare(t, "--mount", "--pid", "--fork", "--uts", "--ipc", "--net", "--cgroup", "--kill-child", "testdata/boot.sh", "boot", root, over)
	log, err := os.ReadFile(filepath.Join(over, "upper/probe.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`^ActiveState=active\nSubState=running\n`, `\nCapEff:\s0+\n`, `\nNoNewPrivs:\s1\n`, `\nSeccomp:\s2\n`,
		`\n-r-------- 1 nxvk nxvk .* \.erlang\.cookie\n`, `"name":"llvmpipe[^"]*".*"message":"serving"`, `"message":"stopping"`,
		`\nActiveState=inactive\n`, `\nSubState=dead\n`, `\nResult=success\n`, `\nExecMainStatus=0\n`,
	} {
		if !regexp.MustCompile(want).Match(log) {
			t.Errorf("the log has no %s:\n%s", want, log)
		}
	}
}
