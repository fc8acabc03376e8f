package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"nxvk/vulkan"
)

// binary is the program, built once; epmdPort is where its nodes serve a port mapper
// of their own.
var binary, epmdPort string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "nxvk-node-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "nxvk-node")
		if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_, epmdPort, _ = net.SplitHostPort(l.Addr().String())
		l.Close()
		return m.Run()
	}())
}

// program prepares the program as a user in a home of his own would start it.
func program(path, home string, args ...string) *exec.Cmd {
	c := exec.Command(path, args...)
	c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "USERPROFILE=" + home, "ERL_EPMD_PORT=" + epmdPort}
	return c
}

// entry is what one line of a log says.
type entry struct {
	Level, Message, File, Time string
}

// serve starts the program until the node is ready, ends it, and returns what it
// logged: each line is an object.
func serve(t *testing.T, c *exec.Cmd) []entry {
	t.Helper()
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(stdout).ReadString('\n')
	stdin.Close()
	io.Copy(io.Discard, stdout)
	if err := c.Wait(); err != nil || readErr != nil || !strings.HasPrefix(line, "nxvk ready ") {
		t.Fatalf("%v, %v, %q\n%s", err, readErr, line, &stderr)
	}
	var all []entry
	for text := range strings.Lines(stderr.String()) {
		var e entry
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Level == "" || e.Time == "" {
			t.Errorf("the log has the line %q: %v", text, err)
		}
		all = append(all, e)
	}
	return all
}

// run's flags for a node that no other is in the way of.
func runFlags(t *testing.T, more ...string) []string {
	name := fmt.Sprintf("%s%d@127.0.0.1", strings.ToLower(t.Name()), os.Getpid())
	return append([]string{"run", "--name", name, "--exit-on-eof", "--cache-dir", "-"}, more...)
}

// A user without a cookie gets one, which only he can read; the second start takes
// it as it is.
func TestMakesCookie(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".erlang.cookie")
	var cookies []string
	for round := range 2 {
		log := serve(t, program(binary, home, runFlags(t, "--device", "host")...))
		said := 0
		for _, e := range log {
			if e.File == file && e.Level == "info" && strings.Contains(e.Message, "created a cookie") {
				said++
			}
		}
		if said != 1-round {
			t.Errorf("start %d: the file is named %d times\n%v", round, said, log)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cookies = append(cookies, string(b))
	}
	if !regexp.MustCompile(`^[A-Z]{32}$`).MatchString(cookies[0]) || cookies[0] != cookies[1] {
		t.Errorf("the cookies are %q", cookies)
	}
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm() != 0o400 {
		t.Errorf("the mode is %v", st.Mode())
	}
	if left, _ := os.ReadDir(home); len(left) != 1 {
		t.Errorf("the home has %v", left)
	}
}

// The node warns of a cookie that other users can read.
func TestOpenCookie(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of files are those of Unix")
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".erlang.cookie"), []byte("SECRET\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantWarning(t, serve(t, program(binary, home, runFlags(t, "--device", "host")...)), "other users can read the cookie")
}

// A former name of a flag works and is warned of in the log, whose lines stay objects.
func TestWarnsOfFormerName(t *testing.T) {
	c := program(binary, t.TempDir(), runFlags(t, "--device", "host", "--no", "rows")...)
	wantWarning(t, serve(t, c), "use --disable-passes")
}

func wantWarning(t *testing.T, log []entry, text string) {
	t.Helper()
	for _, e := range log {
		if e.Level == "warn" && strings.Contains(e.Message, text) {
			return
		}
	}
	t.Errorf("no warning says %q\n%v", text, log)
}

// A node that was built without Vulkan says so, as one warning with what to install,
// and doctor does.
func TestBuiltWithoutVulkan(t *testing.T) {
	without := filepath.Join(t.TempDir(), "nxvk-node")
	build := exec.Command("go", "build", "-tags", "novulkan", "-o", without, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	home := t.TempDir()
	log := serve(t, program(without, home, runFlags(t)...))
	wantWarning(t, log, "built without Vulkan")
	wantWarning(t, log, "apt-get install gcc libc6-dev libvulkan-dev")
	for _, e := range serve(t, program(without, home, runFlags(t, "--device", "host")...)) {
		if e.Level == "warn" && strings.Contains(e.Message, "Vulkan") {
			t.Errorf("asked for the host, the node warns: %s", e.Message)
		}
	}
	out, err := program(without, home, "doctor").CombinedOutput()
	if err == nil || runtime.GOOS == "linux" && !strings.Contains(string(out), "apt-get install gcc libc6-dev libvulkan-dev") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	if out, err = program(without, home, "version").Output(); err != nil || !strings.Contains(string(out), "Vulkan by none") {
		t.Errorf("version: %v\n%s", err, out)
	}
}

func TestVersion(t *testing.T) {
	var said []string
	for _, arg := range []string{"version", "--version", "-version"} {
		out, err := program(binary, t.TempDir(), arg).Output()
		if err != nil || !strings.HasPrefix(string(out), "nxvk-node ") || !strings.Contains(string(out), "Vulkan by "+vulkan.Binding) {
			t.Errorf("%s: %q, %v", arg, out, err)
		}
		said = append(said, string(out))
	}
	if said[0] != said[1] || said[0] != said[2] {
		t.Errorf("the versions are %q", said)
	}
}

// devices --json has what the library says.
func TestDevicesJSON(t *testing.T) {
	infos, err := vulkan.Devices()
	if err != nil && !errors.Is(err, vulkan.ErrNoVulkan) {
		t.Fatal(err)
	}
	out, err := program(binary, t.TempDir(), "devices", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(out, &list); err != nil || list == nil || len(list) != len(infos) {
		t.Fatalf("%s: %v, want %d devices", out, err, len(infos))
	}
	for i, x := range infos {
		for key, want := range map[string]any{
			"index": float64(i), "name": x.Name, "kind": x.Kind.String(), "memory": float64(x.Memory),
			"vulkan": x.APIVersion.String(), "driver": x.Driver, "driver_info": x.DriverInfo, "uuid": x.UUID,
		} {
			if list[i][key] != want {
				t.Errorf("device %d: %s is %v, want %v", i, key, list[i][key], want)
			}
		}
	}
}

// A device that is given twice has two servers; so have several that are given.
func TestSeveralDevices(t *testing.T) {
	infos, _ := vulkan.Devices()
	for _, devices := range [][]string{{"host", "host"}, {"0", "0", "host"}} {
		if devices[0] == "0" && len(infos) == 0 {
			t.Skip("no Vulkan device")
		}
		var args []string
		for _, d := range devices {
			args = append(args, "--device", d)
		}
		serving := 0
		for _, e := range serve(t, program(binary, t.TempDir(), runFlags(t, args...)...)) {
			if e.Message == "serving" {
				serving++
			}
		}
		if serving != len(devices) {
			t.Errorf("%q: %d servers, want %d", devices, serving, len(devices))
		}
	}
}

// An index that no device has is an error, also where the name of one has the digit.
func TestNoSuchIndex(t *testing.T) {
	infos, err := vulkan.Devices()
	if err != nil || len(infos) == 0 {
		t.Skipf("no device: %v", err)
	}
	for _, index := range append([]string{fmt.Sprint(len(infos))}, regexp.MustCompile(`[0-9]+`).FindAllString(infos[0].Name, -1)...) {
		if len(index) == 1 && int(index[0]-'0') < len(infos) {
			continue
		}
		c := program(binary, t.TempDir(), runFlags(t, "--cookie", "x", "--device", index)...)
		out, _ := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != exitNoDevice {
			t.Errorf("--device %s: exit code %d, want %d\n%s", index, code, exitNoDevice, out)
		}
	}
}

// Lines for people have the date.
func TestConsole(t *testing.T) {
	var b bytes.Buffer
	log := zerolog.New(console(&b)).With().Timestamp().Logger()
	log.Info().Msg("hello")
	if !regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`).MatchString(b.String()) {
		t.Errorf("the line is %q", b.String())
	}
}
