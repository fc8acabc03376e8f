package node

import (
	"fmt"
	"testing"

	"ergo.services/ergo/gen"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"nxvk/node/dist"
)

// fakeWire has many connections and a handshake of each fault.
type fakeWire struct{ counters dist.Counters }

const fakeConnections = 3 * maxConnections

func (f *fakeWire) Counters() *dist.Counters { return &f.counters }

func (f *fakeWire) Counts() dist.Counts {
	return dist.Counts{
		Handshakes: map[string]uint64{"cookie": 3, "timeout": 0}, Ended: map[string]uint64{"slow": 2},
		Refused: map[string]uint64{"sender": 1},
	}
}

func (f *fakeWire) Connections() []dist.ConnectionStats {
	all := make([]dist.ConnectionStats, fakeConnections)
	for i := range all {
		n := int64(i)
		all[i] = dist.ConnectionStats{Peer: gen.Atom(fmt.Sprintf("a%d\x1b\xff@b", i)), Assembly: n, Decoding: n, Signals: n, Waiting: n}
	}
	return all
}

// The numbers of the distribution are what Prometheus takes, also where peers are many
// and their names strange, and no byte is left out.
func TestWireMetrics(t *testing.T) {
	f := &fakeWire{}
	f.counters.Connections.Store(7)
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(wireCollector{f})
	list, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(list).Lint(); err != nil || len(problems) > 0 {
		t.Fatalf("%v %v", problems, err)
	}
	all := make(map[string][]*dto.Metric)
	for _, family := range list {
		all[family.GetName()] = family.Metric
	}
	if m := all["nxvk_connections"]; len(m) != 1 || m[0].Gauge.GetValue() != 7 {
		t.Errorf("connections: %v", m)
	}
	if m := all["nxvk_connections_ended_total"]; len(m) != 1 || m[0].Label[0].GetValue() != "slow" || m[0].Counter.GetValue() != 2 {
		t.Errorf("ended: %v", m)
	}
	if m := all["nxvk_handshake_failures_total"]; len(m) != 2 {
		t.Errorf("handshakes: %v", m)
	}
	for _, kind := range []string{"assembly", "decoded", "signal", "queued"} {
		series := all["nxvk_connection_"+kind+"_bytes"]
		sum := 0.0
		for _, m := range series {
			sum += m.Gauge.GetValue()
		}
		if len(series) != maxConnections+1 || sum != fakeConnections*(fakeConnections-1)/2 {
			t.Errorf("%s: %d series of %v bytes in all", kind, len(series), sum)
		}
	}
}
