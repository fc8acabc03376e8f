// Package bench measures the wire: the same BEAM program talks to another BEAM
// and to a node of ours, on one machine in one run.
//
// It knows nothing of devices. Its Actor answers on a Go slice what a BEAM
// would answer from its own heap.
package bench

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/node/dist"
)

//go:embed wire.escript
var script []byte

// Row is one number, of the BEAM and of ours.
type Row struct {
	What       string
	Unit       string // "us", less is better, or "GB/s", more is better
	BEAM, Ours float64
}

// Better says whether ours is at least as good.
func (r Row) Better() bool {
	if r.Unit == "us" {
		return r.Ours <= r.BEAM
	}
	return r.Ours >= r.BEAM
}

// Name is the name under which Actor is registered.
const Name gen.Atom = "wire"

// Run starts a node of ours and two BEAMs and measures. It needs escript on
// the path.
func Run(ctx context.Context) ([]Row, error) {
	dir, err := os.MkdirTemp("", "nxvk-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "wire.escript")
	if err := os.WriteFile(file, script, 0o700); err != nil {
		return nil, err
	}
	mapper, err := freeAddress()
	if err != nil {
		return nil, err
	}
	n, err := startNode(mapper)
	if err != nil {
		return nil, err
	}
	defer n.Close()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, lines, err := escript(ctx, mapper, file, "server", beamName, cookie)
	if err != nil {
		return nil, err
	}
	defer server.Wait()
	defer cancel()
	if line := <-lines; line != "ready" {
		return nil, fmt.Errorf("start a BEAM to compare with: %s", line)
	}
	client, lines, err := escript(ctx, mapper, file, "client", clientName, cookie, beamName, nodeName)
	if err != nil {
		return nil, err
	}
	rows, err := collect(lines)
	if waited := client.Wait(); err == nil && waited != nil {
		err = fmt.Errorf("measure: %w", waited)
	}
	return rows, err
}

const (
	cookie     = "bench"
	nodeName   = "nxvk_bench@127.0.0.1"
	beamName   = "beam_bench@127.0.0.1"
	clientName = "client_bench@127.0.0.1"
)

func startNode(mapper string) (*dist.Node, error) {
	options := dist.Options{Name: nodeName, Cookie: cookie, Epmd: mapper, ServeEpmd: true}
	options.Ergo.Log.DefaultLogger.Disable = true
	n, err := dist.Start(options)
	if err != nil {
		return nil, err
	}
	_, err = n.SpawnRegister(Name, func() gen.ProcessBehavior { return &Actor{} }, gen.ProcessOptions{})
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func escript(ctx context.Context, mapper string, args ...string) (*exec.Cmd, <-chan string, error) {
	cmd := exec.CommandContext(ctx, "escript", args...)
	_, port, _ := net.SplitHostPort(mapper)
	cmd.Env = append(os.Environ(), "ERL_EPMD_PORT="+port, "ERL_CRASH_DUMP=/dev/null")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start a BEAM: %w", err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return cmd, lines, nil
}

// collect pairs the numbers of the two nodes.
func collect(lines <-chan string) ([]Row, error) {
	var rows []Row
	byWhat := make(map[string]int)
	for line := range lines {
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			return rows, fmt.Errorf("measure: the BEAM says %q", line)
		}
		value, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			return rows, err
		}
		i, ok := byWhat[f[1]]
		if !ok {
			i = len(rows)
			byWhat[f[1]] = i
			rows = append(rows, Row{What: f[1], Unit: f[3]})
		}
		if f[0] == nodeName {
			rows[i].Ours = value
		} else {
			rows[i].BEAM = value
		}
	}
	return rows, nil
}

// Actor answers {echo, Term}, {put, Binary} with its size, {get, Size} with a
// binary, and {casts, _} with the number of casts since the last such call.
type Actor struct {
	act.Actor
	made  map[int64][]byte
	casts int
}

// HandleMessage serves one request.
func (a *Actor) HandleMessage(_ gen.PID, message any) error {
	switch m := message.(type) {
	case dist.Cast:
		a.casts++
	case dist.Call:
		// A caller that is gone needs no answer.
		_ = a.Send(m.From, dist.NewReply(m, a.answer(m.Request)))
	}
	return nil
}

func (a *Actor) answer(t etf.Term) etf.Term {
	request, _ := t.(etf.Tuple)
	if len(request) != 2 {
		return etf.Atom("badarg")
	}
	switch request[0] {
	case etf.Term(etf.Atom("echo")):
		return request[1]
	case etf.Term(etf.Atom("put")):
		switch b := request[1].(type) {
		case *etf.Binary:
			b.Release()
			return b.Len()
		case []byte:
			return len(b)
		}
	case etf.Term(etf.Atom("get")):
		if n, ok := request[1].(int64); ok && n >= 0 && n <= 1<<30 {
			return a.binary(n)
		}
	case etf.Term(etf.Atom("casts")):
		n := a.casts
		a.casts = 0
		return n
	}
	return etf.Atom("badarg")
}

func (a *Actor) binary(n int64) []byte {
	if a.made == nil {
		a.made = make(map[int64][]byte)
	}
	if a.made[n] == nil {
		a.made[n] = make([]byte, n)
		for i := range a.made[n] {
			a.made[n][i] = 7
		}
	}
	return a.made[n]
}
