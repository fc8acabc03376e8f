package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/nuts"
	"nxvk/ops"
)

// The bounds of a request to sample.
const (
	MaxChains = 1 << 14
	MaxDraws  = 1 << 30
	MaxDim    = 1 << 20
)

// Sample is a request to draw from a density.
type Sample struct {
	Density
	Chains  int
	Chunk   int           // draws in a message
	Credit  int           // messages of draws before the reader has to ask for more; 0 is no bound
	Report  time.Duration // time between progress reports; 0 is none
	Warmup  bool          // the draws of warm-up are sent too
	Options nuts.Options  // of all chains

	// Init, Steps and Metrics are the first positions, step sizes and metrics of each
	// chain, or nil.
	Init, Steps, Metrics []float64
}

// MaxReport bounds the time between reports.
const MaxReport = time.Hour

// Chain returns the options of a chain.
func (s *Sample) Chain(i int) nuts.Options {
	o := s.Options
	if s.Init != nil {
		o.Init = s.Init[i*s.Dim : (i+1)*s.Dim]
	}
	if s.Steps != nil {
		o.Step = s.Steps[i]
	}
	if s.Metrics != nil {
		o.Metric = s.Metrics[i*s.Dim : (i+1)*s.Dim]
	}
	return o
}

// decodeSample reads {sample, Options}.
func decodeSample(t etf.Term) (*Sample, error) {
	s := &Sample{Density: Density{Type: ops.F64}, Chains: 1, Chunk: 100, Options: nuts.Options{Warmup: 1000, Draws: 1000}}
	if err := eachOption("sample", t, s.set); err != nil {
		return nil, err
	}
	switch {
	case s.Program == "":
		return nil, bad("sample needs the option program")
	case s.Dim == 0:
		return nil, bad("sample needs the option dim")
	case s.Init != nil && len(s.Init) != s.Chains*s.Dim:
		return nil, bad(fmt.Sprintf("init has %d numbers, %d chains of %d parameters need %d", len(s.Init), s.Chains, s.Dim, s.Chains*s.Dim))
	case s.Steps != nil && len(s.Steps) != s.Chains:
		return nil, bad(fmt.Sprintf("step has %d numbers, there are %d chains", len(s.Steps), s.Chains))
	case len(s.Metrics) == s.Dim:
		s.Options.Metric, s.Metrics = s.Metrics, nil
	case s.Metrics != nil && len(s.Metrics) != s.Chains*s.Dim:
		return nil, bad(fmt.Sprintf("metric has %d numbers, must have %d or, of each of %d chains, %d", len(s.Metrics), s.Dim, s.Chains, s.Chains*s.Dim))
	}
	return s, nil
}

func (s *Sample) set(name string, v etf.Term) (err error) {
	if known, err := s.Density.set(name, v); known {
		return err
	}
	o := &s.Options
	switch name {
	case "chains":
		s.Chains, err = between(v, 1, MaxChains)
	case "chunk":
		s.Chunk, err = between(v, 1, MaxDraws)
	case "credit":
		s.Credit, err = between(v, 1, MaxDraws)
	case "warmup":
		o.Warmup, err = between(v, 0, MaxDraws)
	case "draws":
		o.Draws, err = between(v, 0, MaxDraws)
	case "thin":
		o.Thin, err = between(v, 1, MaxDraws)
	case "max_depth":
		o.MaxDepth, err = between(v, 1, 20)
	case "seed":
		o.Seed, err = seed(v)
	case "target":
		o.Target, err = float(v)
	case "report":
		var ms int
		ms, err = between(v, 0, int(MaxReport/time.Millisecond))
		s.Report = time.Duration(ms) * time.Millisecond
	case "step":
		if o.Step, err = float(v); err != nil {
			if s.Steps, err = doubles(v); err != nil {
				err = bad("must be a number, or a binary of an f64 number for each chain")
			}
		}
	case "adapt":
		err = flag(v, &o.Fixed)
		o.Fixed = !o.Fixed
	case "metric":
		s.Metrics, err = doubles(v)
	case "init":
		s.Init, err = doubles(v)
	case "warmup_draws":
		err = flag(v, &s.Warmup)
	default:
		err = bad("is not an option of sample; gen/README.md lists them")
	}
	return err
}

// DecodeMore reads {nxvk_more, Run, Count}, with which the reader of a run takes Count
// more messages of draws.
func DecodeMore(t etf.Tuple) (run, count int, err error) {
	if len(t) == 3 {
		if run, err = integer(t[1]); err == nil {
			if count, err = between(t[2], 1, MaxDraws); err == nil {
				return run, count, nil
			}
		}
	}
	return 0, 0, bad("more draws are asked for by {nxvk_more, Run, Count}")
}

func flag(t etf.Term, to *bool) error {
	b, ok := boolean(t)
	if !ok {
		return bad("must be true or false")
	}
	*to = b[0] != 0
	return nil
}

func between(t etf.Term, low, high int) (int, error) {
	n, err := integer(t)
	if err != nil || n < low || n > high {
		return 0, bad(fmt.Sprintf("must be an integer from %d to %d", low, high))
	}
	return n, nil
}

func float(t etf.Term) (float64, error) {
	switch x := t.(type) {
	case float64:
		return x, nil
	case int64:
		return float64(x), nil
	}
	return 0, bad("must be a number")
}

// seed reads an integer of 64 bits.
func seed(t etf.Term) (uint64, error) {
	switch n := t.(type) {
	case int64:
		return uint64(n), nil
	case *big.Int:
		if n.IsUint64() {
			return n.Uint64(), nil
		}
	}
	return 0, bad("must be an integer of 64 bits")
}

// doubles reads a binary of f64, or nil.
func doubles(t etf.Term) ([]float64, error) {
	if t == etf.Atom("nil") {
		return nil, nil
	}
	b, ok := t.([]byte)
	if big, outside := t.(*etf.Binary); outside {
		b, ok = append([]byte(nil), big.Bytes()...), true
		big.Release()
	}
	if !ok || len(b)%8 != 0 {
		return nil, bad("must be a binary of f64 numbers, or nil")
	}
	out := make([]float64, len(b)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return out, nil
}
