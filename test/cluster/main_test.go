package cluster

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// nodeBinary is the program under test, erlangDir the folder of the compiled
// clients, epmdPort where the port mapper of these tests listens.
var (
	nodeBinary string
	erlangDir  string
	epmdPort   string
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// run builds what all tests use. NXVK_NODE names a node that is built already.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nxvk-cluster-")
	if err != nil {
		return complain(err)
	}
	defer os.RemoveAll(dir)
	if nodeBinary = os.Getenv("NXVK_NODE"); nodeBinary == "" {
		nodeBinary = filepath.Join(dir, "nxvk-node")
		if err := command("go", "build", "-o", nodeBinary, "nxvk/cmd/nxvk-node"); err != nil {
			return complain(err)
		}
	}
	if _, err := exec.LookPath("erlc"); err != nil {
		fmt.Println("no Erlang on this machine: the cluster tests are skipped")
		return 0
	}
	sources, _ := filepath.Glob("*.erl")
	erlangDir = dir
	if err := command("erlc", append([]string{"-o", dir}, sources...)...); err != nil {
		return complain(err)
	}
	stop, err := startEpmd()
	if err != nil {
		return complain(err)
	}
	defer stop()
	return m.Run()
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "cluster:", err)
	return 1
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// startEpmd runs a port mapper of these tests alone, so that other nodes of
// the machine are not touched.
func startEpmd() (stop func(), err error) {
	if epmdPort, err = freePort(); err != nil {
		return nil, err
	}
	// -d twice has it say when it listens.
	cmd := exec.Command("epmd", "-d", "-d", "-port", epmdPort, "-address", "127.0.0.1")
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start epmd: %w", err)
	}
	stop = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "entering the main select() loop") {
			go io.Copy(io.Discard, said)
			return stop, nil
		}
	}
	stop()
	return nil, fmt.Errorf("epmd has ended before it listened on port %s", epmdPort)
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
