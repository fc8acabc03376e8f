package dist

import (
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/node/dist/control"
	"nxvk/node/dist/packet"
)

// stall is a logger of Ergo's node that holds up whoever logs what begins with at,
// until the condition holds.
type stall struct {
	at    string
	until atomic.Pointer[func() bool]
}

func (s *stall) Log(m gen.MessageLog) {
	until := s.until.Load()
	if until == nil || !strings.HasPrefix(m.Format, s.at) {
		return
	}
	for !(*until)() {
		runtime.Gosched()
	}
}

func (s *stall) Terminate() {}

// stalled is a cluster whose node logs to the stall.
func stalled(t *testing.T, s *stall) *cluster {
	var options Options
	options.Ergo.Log.Level = gen.LogLevelTrace
	options.Ergo.Log.Loggers = []gen.Logger{{Name: "stall", Logger: s, Filter: []gen.LogLevel{gen.LogLevelTrace, gen.LogLevelInfo}}}
	c := newCluster(t, "/", options)
	c.node.linger = waitTime
	return c
}

// write sends a control message as a peer does.
func write(t *testing.T, s net.Conn, control etf.Tuple) {
	t.Helper()
	p, err := etf.Append([]byte{etf.Version, 'D', 0}, control)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...)); err != nil {
		t.Fatal(err)
	}
}

// ends reads to the end of a stream and counts the exits and the ends of what is
// monitored, by operation, that have reason.
func ends(s net.Conn, reason etf.Atom) (map[int64]int, error) {
	count := make(map[int64]int)
	r := packet.Reader{Source: s, Allocator: etf.NewPool(1 << 20), MaxTerm: 1 << 20,
		Deliver: func(m packet.Message) (bool, error) {
			if m.Payload.Keep() == etf.Term(reason) {
				count[m.Control[0].(int64)]++
			}
			return true, nil
		}}
	err := r.Run()
	return count, err
}

// TestEndsAreTold stops a node whose process a peer is linked to and monitors. Its
// end is held up where Ergo counts it as ended and has not told those who watch
// its name: the peer is told all the same, and that before the connection ends,
// whoever stops the node.
func TestEndsAreTold(t *testing.T) {
	for name, stops := range map[string][]func(*Node){
		"closed":  {(*Node).Close},
		"stopped": {func(n *Node) { n.Node.Stop() }},
		"both":    {(*Node).Close, func(n *Node) { n.Node.Stop() }, (*Node).Close},
	} {
		t.Run(name, func(t *testing.T) {
			hold := &stall{at: "...unregisterProcess"}
			c := stalled(t, hold)
			s := dialRaw(t, c, "watcher@127.0.0.1")
			defer s.Close()
			me := etf.Pid{Node: "watcher@127.0.0.1", ID: 1, Creation: 1}
			watch := func(target etf.Term, ref uint32) {
				write(t, s, etf.Tuple{control.OpMonitor, me, target, etf.Ref{Node: me.Node, Creation: 1, Len: 3, Words: [etf.RefWords]uint32{ref}}})
			}
			watch(Pid(c.echo), 1)
			watch(etf.Atom("echo"), 2)
			write(t, s, etf.Tuple{control.OpLink, me, Pid(c.echo)})
			peer := c.node.connection("watcher@127.0.0.1")
			await(t, "all is watched", func() bool {
				s := peer.signals.Stats()
				return s.Links == 1 && s.Incoming == 2
			})
			ending := func() bool {
				return peer.signals.Stats().Awaited || peer.writer.Closed()
			}
			hold.until.Store(&ending)
			var all sync.WaitGroup
			for _, stop := range stops {
				all.Go(func() { stop(c.node) })
			}
			got, err := ends(s, "shutdown")
			if err != io.EOF {
				t.Errorf("the connection ends with %v", err)
			}
			if got[control.OpPayloadMonitorExit] != 2 || got[control.OpPayloadExit] != 1 {
				t.Errorf("told %v, want 2 of %d and 1 of %d", got, control.OpPayloadMonitorExit, control.OpPayloadExit)
			}
			s.Close()
			all.Wait()
		})
	}
}
