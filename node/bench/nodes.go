package bench

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/link"
	"nxvk/node/dist"
)

// NodesConfig has the settings of Nodes.
type NodesConfig struct {
	Device string // of each node; empty is the host
	Count  int    // of nodes
	Bytes  int    // of a value
	Rounds int
	Format Format
}

// Nodes measures nodes of this machine, each a process: the upload of a value to the first one, a value that the first
// imports from the second, and an all_reduce among all. The least time of the rounds counts, which take turns.
func Nodes(ctx context.Context, c NodesConfig) error {
	return inDir(ctx, &cluster{device: cmp.Or(c.Device, "host")}, func(b *cluster) error { return b.measureNodes(c) })
}

// nodesRank is a session of a node.
type nodesRank struct {
	name   string
	client *link.Client
	shared etf.Tuple // of a value of the session, but for its id
}

const nodesServer = "nxvk_0"

func (c *cluster) measureNodes(config NodesConfig) error {
	cookie, err := os.ReadFile(c.cookieFile())
	if err != nil {
		return err
	}
	links := link.New(dist.Options{Name: gen.Atom(c.name("client")), Cookie: string(bytes.TrimSpace(cookie)), Epmd: "127.0.0.1:" + c.port})
	defer links.Close()
	var ranks []*nodesRank
	for i := range config.Count {
		role := fmt.Sprint("node", i)
		node, err := c.nodeAs(role)
		if err != nil {
			return err
		}
		defer node.stop()
		client, err := links.Client(c.name(role))
		if err != nil {
			return err
		}
		defer client.Close()
		ranks = append(ranks, &nodesRank{name: c.name(role), client: client})
	}
	return config.measure(os.Stdout, ranks)
}

func (c NodesConfig) measure(out io.Writer, ranks []*nodesRank) error {
	n := c.Bytes / 4
	data := make([]byte, 4*n)
	var nodes, group etf.List
	for i, r := range ranks {
		nodes, group = append(nodes, etf.Atom(r.name)), append(group, i)
	}
	for i, r := range ranks {
		opened, err := r.call(etf.Tuple{etf.Atom("open"), etf.Map{{Key: etf.Atom("mesh"), Value: etf.Tuple{[]byte("nodes"), i, nodes}}}})
		if err != nil {
			return err
		}
		field := func(k etf.Atom) etf.Term { v, _ := opened.(etf.Map).Get(k); return v }
		r.shared = etf.Tuple{etf.Atom("shared"), etf.Tuple{etf.Atom(nodesServer), etf.Atom(r.name)}, field("incarnation"), field("session"), field("key")}
		r.upload(1, data)
		if _, err := r.call(etf.Tuple{etf.Atom("describe"), 1}); err != nil {
			return err
		}
	}
	rows := []struct {
		name  string
		ranks []*nodesRank
		begin func(r *nodesRank, id int)
	}{
		{"upload", ranks[:1], func(r *nodesRank, id int) { r.upload(id, data) }},
		{"import", ranks[:1], func(r *nodesRank, id int) {
			r.stream(etf.Tuple{etf.Atom("import"), floatsOf(id, n), etf.List{append(ranks[1].shared[:5:5], 1)}, etf.List(nil)})
		}},
		{"all_reduce", ranks, func(r *nodesRank, id int) {
			r.stream(etf.Tuple{etf.Atom("all_reduce"), floatsOf(id, n), etf.List{1}, etf.List{group, etf.Atom("sum")}})
		}},
	}
	least := make([]time.Duration, len(rows))
	for round := range max(1, c.Rounds) {
		for i, row := range rows {
			took, err := timeRound(row.ranks, 10+round, row.begin)
			if err != nil {
				return fmt.Errorf("%s: %w", row.name, err)
			}
			if least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	if c.Format == Benchstat {
		header(out, "nodes")
	} else {
		fmt.Fprintf(out, "%d nodes, %d bytes\n%-12s %12s %9s %22s\n", len(ranks), 4*n, "", "time", "GB/s", "of the upload's rate")
	}
	for i, row := range rows {
		rate := 4 * float64(n) / least[i].Seconds()
		if c.Format == Benchstat {
			line(out, "Nodes/"+row.name, max(1, c.Rounds), perOp(least[i]), quantity{rate, "B/s"})
			continue
		}
		fmt.Fprintf(out, "%-12s %12v %9.2f %22.2f\n", row.name, least[i].Round(time.Microsecond), rate/1e9, least[0].Seconds()/least[i].Seconds())
	}
	return nil
}

// timeRound has ranks make a value and waits for all of them.
func timeRound(ranks []*nodesRank, id int, begin func(r *nodesRank, id int)) (time.Duration, error) {
	ended := make(chan error, len(ranks))
	start := time.Now()
	for _, r := range ranks {
		begin(r, id)
		r.client.Call(nodesServer, etf.Tuple{etf.Atom("describe"), id}, func(_ etf.Term, err error) { ended <- err })
	}
	var failed error
	for range ranks {
		if err := <-ended; err != nil {
			failed = err
		}
	}
	took := time.Since(start)
	for _, r := range ranks {
		r.stream(etf.Tuple{etf.Atom("free"), etf.List(nil), etf.List(nil), etf.List{etf.List{id}}})
		if _, err := r.call(etf.Atom("sync")); err != nil {
			return 0, err
		}
	}
	return took, failed
}

func floatsOf(id, n int) etf.List {
	return etf.List{etf.Tuple{id, etf.Atom("f32"), etf.Tuple{n}}}
}

func (r *nodesRank) call(request etf.Term) (etf.Term, error) {
	type answer struct {
		term etf.Term
		err  error
	}
	got := make(chan answer, 1)
	r.client.Call(nodesServer, request, func(t etf.Term, err error) { got <- answer{t, err} })
	a := <-got
	return a.term, a.err
}

func (r *nodesRank) stream(in etf.Term) {
	r.client.Send(nodesServer, etf.Tuple{etf.Atom("nxvk"), etf.List{in}})
}

func (r *nodesRank) upload(id int, data []byte) {
	n := len(data) / 4
	value := etf.Tuple{etf.Atom("f32"), etf.Tuple{n}, etf.Outside{Bytes: data, Release: func() {}}}
	r.stream(etf.Tuple{etf.Atom("tensor"), floatsOf(id, n), etf.List{value}, etf.List(nil)})
}
