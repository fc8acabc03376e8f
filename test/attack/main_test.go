package attack

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	cookie = "nxvk_attack"
	mib    = 1 << 20
	// memoryLimit is the node's --memory-limit.
	memoryLimit = 256 * mib
	// slack is what the process may take beside that: its code, its driver, buffers
	// of connections, and garbage between two collections.
	slack = 384 * mib
)

// nodeBinary is the program under test.
var nodeBinary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds the program. NXVK_NODE names one that is built already.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nxvk-attack-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if nodeBinary = os.Getenv("NXVK_NODE"); nodeBinary == "" {
		nodeBinary = filepath.Join(dir, "nxvk-node")
		if out, err := exec.Command("go", "build", "-o", nodeBinary, "nxvk/cmd/nxvk-node").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// node is a running nxvk-node on the host's processor.
type node struct {
	t    *testing.T
	name string
	port int
	pid  int
	mu   sync.Mutex
	log  strings.Builder
	more chan struct{} // closed at the next line of the log
}

var readyLine = regexp.MustCompile(`^nxvk ready (\S+) (\d+)$`)

// start runs a node until the test ends, which wants that it has lived so long. limit
// is a line of the shell before it, as ulimit.
func start(t *testing.T, limit string, args ...string) *node {
	t.Helper()
	n := &node{t: t, more: make(chan struct{}), name: fmt.Sprintf("attack%d_%d@127.0.0.1", os.Getpid(), time.Now().UnixNano())}
	all := append([]string{"-c", limit + ` exec "$0" "$@"`, nodeBinary, "run", "--name", n.name, "--cookie", cookie,
		"--device", "host", "--cache-dir", "-", "--memory-limit", strconv.Itoa(memoryLimit)}, args...)
	cmd := exec.Command("sh", all...)
	cmd.Env = append(os.Environ(), "GOGC=100", "GOMEMLIMIT=256MiB", "ERL_EPMD_PORT=1") // no epmd: peers know the port
	stdout, _ := cmd.StdoutPipe()
	stderr, _ := cmd.StderrPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan bool)
	var copied sync.WaitGroup
	copied.Go(func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			n.write(s.Text())
		}
	})
	t.Cleanup(func() {
		select {
		case <-exited:
			t.Errorf("the node has ended:\n%s", n.logged())
		default:
			cmd.Process.Kill()
			<-exited
		}
	})
	ready := make(chan []string, 1)
	copied.Go(func() {
		for s := bufio.NewScanner(stdout); s.Scan(); {
			if m := readyLine.FindStringSubmatch(s.Text()); m != nil {
				ready <- m
			}
		}
	})
	go func() { copied.Wait(); cmd.Wait(); close(exited) }()
	select {
	case m := <-ready:
		n.port, _ = strconv.Atoi(m[2])
	case <-time.After(patience):
		t.Fatalf("the node is not ready:\n%s", n.logged())
	}
	n.pid = cmd.Process.Pid
	return n
}

// write appends a line to the log.
func (n *node) write(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log.WriteString(line + "\n")
	close(n.more)
	n.more = make(chan struct{})
}

func (n *node) logged() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.String()
}

// await waits until the log has a text.
func (n *node) await(text string) {
	n.t.Helper()
	timeout := time.After(patience)
	for {
		n.mu.Lock()
		more := n.more
		n.mu.Unlock()
		if strings.Contains(n.logged(), text) {
			return
		}
		select {
		case <-more:
		case <-timeout:
			n.t.Fatalf("no %q in the log:\n%s", text, n.logged())
		}
	}
}

// peak is the most memory that the node has had resident.
func (n *node) peak() int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.pid))
	if err != nil {
		n.t.Skip("no /proc")
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(b)
	kib, _ := strconv.Atoi(string(m[1]))
	return kib << 10
}
