package bench

import (
	"bufio"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
)

//go:embed wire.erl
var wireSource []byte

// cluster is the processes of a measurement: this program as a node, a BEAM to compare it with,
// and a BEAM that talks to both.
type cluster struct {
	ctx    context.Context
	module string // of the BEAMs
	source []byte // its text
	device string // of the node; empty is the best one
	dir    string // of the compiled module and the cookie
	port   string // of the port mapper, which the node serves
	pid    int    // makes names distinct
}

// Wire measures messages between BEAMs and between a BEAM and this node on its
// best device, in one run on this machine, and prints that. It needs Erlang.
func Wire(ctx context.Context, f Format) error {
	return inCluster(ctx, &cluster{module: "wire", source: wireSource}, func(c *cluster) error { return c.wire(f) })
}

// inCluster measures in a cluster with BEAMs.
func inCluster(ctx context.Context, c *cluster, measure func(*cluster) error) error {
	return inDir(ctx, c, func(c *cluster) error {
		if err := c.compile(); err != nil {
			return err
		}
		return measure(c)
	})
}

// inDir measures in a cluster, with its files in a folder of their own.
func inDir(ctx context.Context, c *cluster, measure func(*cluster) error) error {
	dir, err := os.MkdirTemp("", "nxvk-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.ctx, c.dir, c.pid = ctx, dir, os.Getpid()
	if err := c.prepare(); err != nil {
		return err
	}
	return measure(c)
}

func (c *cluster) wire(f Format) error {
	node, err := c.node()
	if err != nil {
		return err
	}
	defer node.stop()
	peer, err := c.beam("peer")
	if err != nil {
		return err
	}
	defer peer.stop()
	if err := peer.await("ready"); err != nil {
		return err
	}
	client, err := c.beam("client", c.name("peer"), c.name("node"))
	if err != nil {
		return err
	}
	defer client.stop()
	print := printWire
	if f == Benchstat {
		print = printWireLines
	}
	return print(os.Stdout, client.lines)
}

func (c *cluster) name(role string) string {
	return fmt.Sprintf("nxvk_bench_%s_%d@127.0.0.1", role, c.pid)
}

// compile compiles the Erlang module.
func (c *cluster) compile() error {
	source := filepath.Join(c.dir, c.module+".erl")
	if err := os.WriteFile(source, c.source, 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(c.ctx, "erlc", "-o", c.dir, source).CombinedOutput(); err != nil {
		return fmt.Errorf("compile the Erlang side (nxvk-node doctor says how to install Erlang): %w\n%s", err, out)
	}
	return nil
}

// cookieFile is where the cookie of the cluster is.
func (c *cluster) cookieFile() string { return filepath.Join(c.dir, ".erlang.cookie") }

// prepare makes a cookie, where only this user reads it, and finds a port.
func (c *cluster) prepare() error {
	if err := os.WriteFile(c.cookieFile(), []byte(rand.Text()), 0o400); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	_, c.port, err = net.SplitHostPort(l.Addr().String())
	return err
}

// node starts this program as a node, and waits until it serves.
func (c *cluster) node() (*process, error) { return c.nodeAs("node") }

// nodeAs is node by another name.
func (c *cluster) nodeAs(role string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	argv := []string{"run", "--name", c.name(role), "--cookie-file", c.cookieFile(),
		"--log-level", "error", "--exit-on-eof"}
	if c.device != "" {
		argv = append(argv, "--device", c.device)
	}
	p, err := c.start(self, argv...)
	if err != nil {
		return nil, err
	}
	if err := p.await("nxvk ready"); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

func (c *cluster) beam(role string, args ...string) (*process, error) {
	argv := []string{"-noshell", "-start_epmd", "false", "-name", c.name(role), "-pa", c.dir, "-s", c.module, role}
	return c.start("erl", append(argv, args...)...)
}

// process is a running part of the cluster.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer // ends it when this program ends, however that does
	lines *bufio.Scanner
}

func (c *cluster) start(name string, args ...string) (*process, error) {
	cmd := exec.CommandContext(c.ctx, name, args...)
	// The BEAM finds its cookie in its home.
	cmd.Env = append(os.Environ(), "ERL_EPMD_PORT="+c.port, "ERL_CRASH_DUMP_SECONDS=0", "HOME="+c.dir)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return &process{cmd: cmd, stdin: stdin, lines: bufio.NewScanner(out)}, nil
}

// await reads lines until one begins with the text.
func (p *process) await(text string) error {
	for p.lines.Scan() {
		if strings.HasPrefix(p.lines.Text(), text) {
			return nil
		}
	}
	return fmt.Errorf("%s ended before it was ready; its output is above", p.cmd.Path)
}

func (p *process) stop() {
	// It may have ended by itself.
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

var errNoNumber = errors.New("the measuring BEAM ended without a number; what it printed is above")

// printWire prints the client's lines as a table. The ratio is how many times
// as fast the node is.
func printWire(out io.Writer, lines *bufio.Scanner) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	rows := 0
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		switch len(f) {
		case 2:
			fmt.Fprintf(out, "BEAM to BEAM, and BEAM to nxvk-node on %s\n", f[1])
			fmt.Fprintln(w, "\tBEAM\tnxvk\t\tnxvk is")
		case 4:
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", f[0], f[1], f[2], f[3], ratio(f[1], f[2], f[3]))
			rows++
		default:
			fmt.Fprintln(os.Stderr, lines.Text())
		}
	}
	if err := errors.Join(lines.Err(), w.Flush()); err != nil {
		return err
	}
	if rows == 0 {
		return errNoNumber
	}
	return nil
}

// printWireLines prints the client's lines for benchstat, a sample of the BEAM and one of
// the node for each.
func printWireLines(out io.Writer, lines *bufio.Scanner) error {
	rows := 0
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		switch len(f) {
		case 2:
			header(out, f[1])
		case 4:
			for i, side := range []string{"beam", "nxvk"} {
				q, ok := wireQuantity(f[1+i], f[3])
				if !ok {
					continue // instructions of the BEAM
				}
				line(out, "Wire/"+f[0]+"/peer="+side, 1, q)
				rows++
			}
		default:
			fmt.Fprintln(os.Stderr, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if rows == 0 {
		return errNoNumber
	}
	return nil
}

// wireQuantity reads a number of the client; false where there is none.
func wireQuantity(text, unit string) (quantity, bool) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return quantity{}, false
	}
	switch unit {
	case "us":
		return quantity{x * 1e3, "ns/op"}, true
	case "GB/s":
		return quantity{x * 1e9, "B/s"}, true
	}
	return quantity{x * 1e6, "instructions/s"}, true
}

func ratio(beam, ours, unit string) string {
	a, err1 := strconv.ParseFloat(beam, 64)
	b, err2 := strconv.ParseFloat(ours, 64)
	if errors.Join(err1, err2) != nil || a == 0 || b == 0 {
		return ""
	}
	if unit == "us" {
		a, b = b, a
	}
	return fmt.Sprintf("%.2f times as fast", b/a)
}
