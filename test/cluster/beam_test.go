package cluster

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// release is an installation of Erlang: the machine's own, or one in a root
// folder that NXVK_ERL_ROOTS names.
type release struct {
	name string
	root string // empty is the machine's own
}

// releases are those that tests run with.
func releases() []release {
	all := []release{{name: "host"}}
	for root := range strings.SplitSeq(os.Getenv("NXVK_ERL_ROOTS"), ":") {
		if root != "" {
			all = append(all, release{name: filepath.Base(root), root: root})
		}
	}
	return all
}

// prepare compiles the clients with the release's own compiler, since a later
// BEAM may refuse what an earlier one compiled. It returns the folder's name in
// the root.
func (r release) prepare(t *testing.T) string {
	t.Helper()
	if r.root == "" {
		return erlangDir
	}
	if os.Getuid() != 0 {
		t.Skipf("running the Erlang in %s takes root", r.root)
	}
	dir, err := os.MkdirTemp(filepath.Join(r.root, "tmp"), "nxvk-cluster-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	inside := "/tmp/" + filepath.Base(dir)
	compile := []string{r.root, "erlc", "-o", inside}
	sources, _ := filepath.Glob("*.[eh]rl")
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, source), text, 0o644); err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(source) == ".erl" {
			compile = append(compile, inside+"/"+source)
		}
	}
	if err := command("chroot", compile...); err != nil {
		t.Fatal(err)
	}
	return inside
}

// beam is a BEAM that carries out what a test asks.
type beam struct {
	t      *testing.T
	name   string
	otp    string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    *lines
	next   int // the line from which on answers are looked for
	exited chan struct{}
}

// startBEAM runs a BEAM of the machine's own Erlang until the test ends.
func startBEAM(t *testing.T, args ...string) *beam {
	t.Helper()
	return startRelease(t, release{name: "host"}, args...)
}

func startRelease(t *testing.T, r release, args ...string) *beam {
	t.Helper()
	b := &beam{t: t, name: uniqueName("client"), exited: make(chan struct{}), out: newLines()}
	argv := append([]string{"-noshell", "-start_epmd", "false", "-name", b.name, "-setcookie", cookie,
		"-pa", r.prepare(t), "-s", "nxvk_driver", "main"}, args...)
	b.cmd = exec.Command("erl", argv...)
	if r.root != "" {
		b.cmd = exec.Command("chroot", append([]string{r.root, "erl"}, argv...)...)
	}
	b.cmd.Env = append(os.Environ(), "ERL_EPMD_PORT="+epmdPort, "ERL_CRASH_DUMP=/dev/null", "HOME="+"/tmp")
	b.run()
	answer, err := b.answer(patience)
	if err != nil {
		t.Fatalf("start a BEAM: %v\n%s", err, b.out.text())
	}
	b.otp = regexp.MustCompile(`"(\d+)"`).FindString(answer)
	return b
}

func (b *beam) run() {
	b.t.Helper()
	stdin, err := b.cmd.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	stdout, err := b.cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	b.stdin, b.cmd.Stderr = stdin, b.cmd.Stdout
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	go func() {
		b.out.read(stdout)
		b.cmd.Wait()
		close(b.exited)
	}()
	b.t.Cleanup(b.kill)
}

// kill ends the BEAM as the kernel would.
func (b *beam) kill() {
	b.cmd.Process.Kill()
	<-b.exited
}

// ask has the BEAM carry out a call, a term {Module, Function, Arguments}, and
// gives what it returned.
func (b *beam) ask(limit time.Duration, format string, args ...any) (string, error) {
	call := fmt.Sprintf(format, args...)
	if _, err := fmt.Fprintln(b.stdin, call+"."); err != nil {
		return "", fmt.Errorf("%s: %w", call, err)
	}
	answer, err := b.answer(limit)
	if err != nil {
		return "", fmt.Errorf("%s: %w", call, err)
	}
	return answer, nil
}

// patience is how long a test waits for what takes a moment, except on a
// machine that does much else.
const patience = 3 * time.Minute

// call is ask for calls that must succeed.
func (b *beam) call(format string, args ...any) string {
	b.t.Helper()
	answer, err := b.ask(patience, format, args...)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer
}

// want is call where one answer is right.
func (b *beam) want(want, format string, args ...any) {
	b.t.Helper()
	if got := b.call(format, args...); got != want {
		b.t.Fatalf("%s: got %s, want %s", fmt.Sprintf(format, args...), got, want)
	}
}

func (b *beam) answer(limit time.Duration) (string, error) {
	line, next, err := b.out.wait(b.next, func(s string) bool { return strings.HasPrefix(s, "::") }, limit)
	b.next = next
	if err != nil {
		return "", err
	}
	if text, ok := strings.CutPrefix(line, "::value "); ok {
		return text, nil
	}
	return "", fmt.Errorf("%s", strings.TrimPrefix(line, "::fail "))
}

// connect joins the BEAM to a node.
func (b *beam) connect(n *node) {
	b.t.Helper()
	b.want("ok", "{nxvk_client,connect,[%s]}", n.atom())
}
