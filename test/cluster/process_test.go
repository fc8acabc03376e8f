package cluster

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// lines is the output of a process, line by line, for tests that wait for one.
type lines struct {
	mu   sync.Mutex
	all  []string
	more chan struct{} // closed and renewed at each line
	done bool
}

func newLines() *lines { return &lines{more: make(chan struct{})} }

func (l *lines) read(r io.Reader) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 4<<20)
	for s.Scan() {
		l.add(s.Text(), false)
	}
	l.add("", true)
}

func (l *lines) add(line string, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if done {
		l.done = true
	} else {
		l.all = append(l.all, line)
	}
	close(l.more)
	l.more = make(chan struct{})
}

// wait returns the first line from the given one on that matches, and the
// number of the line after it.
func (l *lines) wait(from int, match func(string) bool, limit time.Duration) (line string, next int, err error) {
	timeout := time.After(limit)
	for {
		l.mu.Lock()
		for ; from < len(l.all); from++ {
			if match(l.all[from]) {
				line = l.all[from]
				l.mu.Unlock()
				return line, from + 1, nil
			}
		}
		done, more := l.done, l.more
		l.mu.Unlock()
		if done {
			return "", from, fmt.Errorf("the process has ended")
		}
		select {
		case <-more:
		case <-timeout:
			return "", from, fmt.Errorf("nothing in %v", limit)
		}
	}
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// names makes the names of nodes distinct within these tests.
var names atomic.Int64

func uniqueName(prefix string) string {
	return fmt.Sprintf("%s%d_%d@127.0.0.1", prefix, os.Getpid(), names.Add(1))
}

const cookie = "nxvk_cluster"

// node is a running nxvk-node.
type node struct {
	t      *testing.T
	name   string
	port   int
	args   []string
	cmd    *exec.Cmd
	out    *lines // standard output: the line that says it is ready
	log    *lines // standard error
	exited chan struct{}
	stdin  io.WriteCloser
}

var ready = regexp.MustCompile(`^nxvk ready (\S+) (\d+)$`)

// startNode runs a node until the test ends. Arguments come after those that
// every test needs.
func startNode(t *testing.T, args ...string) *node {
	t.Helper()
	n := &node{t: t, name: uniqueName("nxvk"), args: args}
	n.start()
	t.Cleanup(n.kill)
	return n
}

// start runs the program and waits until it serves.
func (n *node) start() {
	n.t.Helper()
	n.spawn(epmdPort)
	line, _, err := n.out.wait(0, ready.MatchString, patience)
	if err != nil {
		n.t.Fatalf("the node does not become ready: %v\n%s", err, n.log.text())
	}
	n.port, _ = strconv.Atoi(ready.FindStringSubmatch(line)[2])
}

func (n *node) spawn(epmdPort string) {
	n.t.Helper()
	args := append([]string{"run", "--name", n.name, "--cookie", cookie, "--cache-dir", n.t.TempDir()}, n.args...)
	n.cmd = exec.Command(nodeBinary, args...)
	n.cmd.Env = append(os.Environ(), "ERL_EPMD_PORT="+epmdPort)
	stdin, err := n.cmd.StdinPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	n.stdin, n.out, n.log, n.exited = stdin, newLines(), newLines(), make(chan struct{})
	stdout, _ := n.cmd.StdoutPipe()
	stderr, _ := n.cmd.StderrPipe()
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	cmd, exited := n.cmd, n.exited
	var reading sync.WaitGroup
	reading.Go(func() { n.out.read(stdout) })
	reading.Go(func() { n.log.read(stderr) })
	go func() {
		reading.Wait()
		cmd.Wait()
		close(exited)
	}()
}

// kill ends the process as the kernel would, and waits for it.
func (n *node) kill() {
	n.cmd.Process.Kill()
	<-n.exited
}

// exitCode waits for the process to end by itself.
func (n *node) exitCode(limit time.Duration) int {
	n.t.Helper()
	select {
	case <-n.exited:
		return n.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		n.t.Fatalf("the node has not ended in %v\n%s", limit, n.log.text())
		return -1
	}
}

// atom is the name of the node as an Erlang term.
func (n *node) atom() string { return "'" + n.name + "'" }

// device is the address of its first device server as an Erlang term.
func (n *node) device() string { return "{nxvk_0," + n.atom() + "}" }

// resident is the resident memory of the process in bytes.
func (n *node) resident() int64 {
	n.t.Helper()
	return resident(n.t, n.cmd.Process.Pid)
}

func resident(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skipf("resident memory cannot be read: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			return kb << 10
		}
	}
	t.Fatal("no VmRSS in /proc/PID/status")
	return 0
}
