package wire

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"nxvk/gen/etf"
)

func numbers(xs ...float64) []byte {
	var b []byte
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// sampleOptions are options of two chains of two parameters, with others.
func sampleOptions(more ...etf.Term) etf.Map {
	m := etf.Map{{Key: etf.Atom("program"), Value: []byte("p")}, {Key: etf.Atom("dim"), Value: int64(2)}, {Key: etf.Atom("chains"), Value: int64(2)}}
	for i := 0; i < len(more); i += 2 {
		m = append(m, etf.Map{{Key: more[i], Value: more[i+1]}}...)
	}
	return m
}

// TestSampleChains: step sizes, metrics and first positions are those of a chain, or of all.
func TestSampleChains(t *testing.T) {
	s, err := decodeSample(sampleOptions(etf.Atom("step"), numbers(0.5, 0.25), etf.Atom("metric"), numbers(1, 2, 3, 4),
		etf.Atom("init"), numbers(5, 6, 7, 8), etf.Atom("report"), int64(200)))
	if err != nil {
		t.Fatal(err)
	}
	if o := s.Chain(1); o.Step != 0.25 || !slices.Equal(o.Metric, []float64{3, 4}) || !slices.Equal(o.Init, []float64{7, 8}) || s.Report != 200*time.Millisecond {
		t.Errorf("chain 1 has %+v, reports come every %v", o, s.Report)
	}
	s, err = decodeSample(sampleOptions(etf.Atom("step"), 0.125, etf.Atom("metric"), numbers(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if o := s.Chain(i); o.Step != 0.125 || !slices.Equal(o.Metric, []float64{1, 2}) || o.Init != nil {
			t.Errorf("chain %d has %+v", i, o)
		}
	}
	for _, c := range []struct {
		name string
		v    etf.Term
		want string
	}{
		{"step", numbers(1, 2, 3), "step has 3 numbers"},
		{"step", etf.Atom("small"), "must be a number, or a binary"},
		{"metric", numbers(1, 2, 3), "metric has 3 numbers"},
		{"init", numbers(1, 2), "init has 2 numbers"},
		{"report", int64(-1), "from 0 to 3600000"},
	} {
		if _, err := decodeSample(sampleOptions(etf.Atom(c.name), c.v)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
