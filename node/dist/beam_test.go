package dist

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/etf/etftest"
)

const (
	testCookie = "a cookie for tests"
	// waitTime is how long tests wait for what has to come, which takes much
	// longer on a busy machine than on others.
	waitTime = 5 * time.Minute
)

// roots are the installations of Erlang to test against: this machine's and
// those below the directories that NXVK_ERL_ROOTS lists.
func roots(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, root := range append([]string{"/"}, filepath.SplitList(os.Getenv("NXVK_ERL_ROOTS"))...) {
		cmd := erl(root, "-noshell", "-eval", `io:format("~s",[erlang:system_info(otp_release)]),halt().`)
		if out, err := cmd.Output(); err == nil {
			found["OTP"+string(out)] = root
		}
	}
	if len(found) == 0 {
		t.Skip("no erl on this machine")
	}
	return found
}

func erl(root string, args ...string) *exec.Cmd {
	if root != "/" {
		args = append([]string{root, "erl"}, args...)
		return exec.Command("chroot", args...)
	}
	return exec.Command("erl", args...)
}

// withBEAMs runs a test against every installation.
func withBEAMs(t *testing.T, test func(t *testing.T, c *cluster)) {
	for name, root := range roots(t) {
		t.Run(name, func(t *testing.T) { test(t, newCluster(t, root, Options{})) })
	}
}

// cluster is a node of ours with its own port mapper, and BEAMs beside it.
type cluster struct {
	t    *testing.T
	node *Node
	echo gen.PID
	root string
	epmd string
	args []string // for the BEAMs
	// anonymous starts BEAMs that are not distributed.
	anonymous bool
}

var serial atomic.Int32

func newCluster(t *testing.T, root string, options Options) *cluster {
	t.Helper()
	c := &cluster{t: t, root: root, epmd: freeAddress(t)}
	options.Name = gen.Atom(fmt.Sprintf("nx%d@127.0.0.1", serial.Add(1)))
	options.Cookie = testCookie
	options.Epmd, options.ServeEpmd = c.epmd, true
	options.Ergo.Log.Level = cmp.Or(options.Ergo.Log.Level, gen.LogLevelError)
	options.Ergo.Log.DefaultLogger.Disable = os.Getenv("NXVK_TEST_LOG") == ""
	if os.Getenv("NXVK_TEST_LOG") != "" {
		options.Ergo.Log.Level = gen.LogLevelInfo
	}
	n, err := Start(options)
	if err != nil {
		t.Fatal(err)
	}
	c.node = n
	t.Cleanup(n.Close)
	c.echo, err = n.SpawnRegister("echo", func() gen.ProcessBehavior { return &echo{node: n} }, gen.ProcessOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// peer is a running BEAM.
type beam struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
	Name  gen.Atom
}

// start starts a BEAM that evaluates code, in which N is our node's name.
func (c *cluster) start(code string, args ...string) *beam {
	c.t.Helper()
	name := fmt.Sprintf("beam%d@127.0.0.1", serial.Add(1))
	identity := []string{"-noinput", "-name", name, "-setcookie", testCookie}
	if c.anonymous {
		identity = identity[:1]
	}
	args = append(append(identity, c.args...), args...)
	args = append(args, "-eval", fmt.Sprintf(`N = list_to_atom("%s"), %s.`, string(c.node.Name()), code))
	b := &beam{t: c.t, cmd: erl(c.root, args...), lines: make(chan string, 1000), Name: gen.Atom(name)}
	_, port, _ := net.SplitHostPort(c.epmd)
	b.cmd.Env = append(os.Environ(), "ERL_EPMD_PORT="+port, "LANG=C.UTF-8", "ERL_CRASH_DUMP=/dev/null", "HOME=/tmp")
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	b.cmd.Stderr = b.cmd.Stdout
	if err := b.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(b.kill)
	go b.read(out)
	return b
}

func (b *beam) read(out io.Reader) {
	s := bufio.NewScanner(out)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		b.lines <- s.Text()
	}
	close(b.lines)
}

// expect waits for a line and compares it.
func (b *beam) expect(want string) {
	b.t.Helper()
	if got := b.line(); got != want {
		b.t.Fatalf("the BEAM says %q, want %q%s", got, want, b.rest())
	}
}

func (b *beam) line() string {
	b.t.Helper()
	select {
	case got, ok := <-b.lines:
		if !ok {
			return "(end)"
		}
		return got
	case <-time.After(waitTime):
		b.t.Fatal("the BEAM says nothing")
	}
	return ""
}

func (b *beam) rest() string {
	b.kill()
	var all strings.Builder
	for line := range b.lines {
		all.WriteString("\n" + line)
	}
	return all.String()
}

func (b *beam) kill() {
	if b.cmd.ProcessState == nil {
		b.cmd.Process.Kill()
		b.cmd.Wait()
	}
}

func (b *beam) signal(s syscall.Signal) {
	b.t.Helper()
	if err := b.cmd.Process.Signal(s); err != nil {
		b.t.Fatal(err)
	}
}

// await polls until a condition holds that nobody tells of, such as a counter.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(waitTime); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("timeout: %s", what)
}

// echo is an actor with which the tests talk.
type echo struct {
	act.Actor
	node  *Node
	casts int
	boss  gen.PID // who hears about exits and ends
}

func (e *echo) Init(...any) error {
	e.SetTrapExit(true)
	return nil
}

func (e *echo) HandleMessage(_ gen.PID, message any) error {
	switch m := message.(type) {
	case Call:
		return e.call(m)
	case Cast:
		e.casts++
		return nil
	case Message:
		if m.Term == etf.Term(etf.Atom("stop")) {
			return gen.TerminateReasonShutdown
		}
		return e.Send(m.Sender, Message{Term: etf.Tuple{etf.Atom("echo"), m.Term}})
	case gen.MessageDownPID:
		return e.Send(e.boss, etf.Tuple{etf.Atom("down"), m.PID, reasonTerm(m.Reason)})
	case gen.MessageExitPID:
		return e.Send(e.boss, etf.Tuple{etf.Atom("exit"), m.PID, reasonTerm(m.Reason)})
	}
	return nil
}

// call answers a request. Failures are answers too: an actor's error is its end.
func (e *echo) call(c Call) error {
	request, _ := c.Request.(etf.Tuple)
	if len(request) != 2 {
		request = etf.Tuple{etf.Atom("unknown"), c.Request}
	}
	var result etf.Term = etf.Atom("ok")
	var err error
	name, _ := request[0].(etf.Atom)
	pid, _ := request[1].(etf.Pid)
	switch name {
	case "echo":
		result = request[1]
	case "hash":
		result = digest(request[1])
	case "make":
		result = etftest.Pattern(int(request[1].(int64)))
	case "casts":
		result = e.casts
	case "monitor":
		e.boss, err = c.From, e.node.Monitor(e.PID(), PID(pid))
	case "demonitor":
		err = e.node.Demonitor(e.PID(), PID(pid))
	case "ergo_monitor":
		e.boss, err = c.From, e.MonitorPID(PID(pid))
	case "link":
		e.boss, err = c.From, e.LinkPID(PID(pid))
	case "unlink":
		err = e.UnlinkPID(PID(pid))
	case "exit":
		err = e.SendExit(PID(pid), gen.TerminateReasonKill)
	case "boss":
		e.boss = c.From
	case "pid":
		result = e.PID()
	}
	if err != nil {
		result = err.Error()
	}
	if err := e.Send(c.From, NewReply(c, result)); err != nil {
		e.Send(c.From, NewReply(c, err.Error()))
	}
	if b, ok := request[1].(*etf.Binary); ok {
		b.Release()
	}
	return nil
}

func port(address string) int {
	_, p, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(p)
	return n
}
