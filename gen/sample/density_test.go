package sample

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/gen/exec"
	"nxvk/gen/exec/exectest/rig"
	"nxvk/gen/exec/program"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// schools is the density of eight schools as Nx.Defn writes it, with its gradient.
const schools = `(%1:f64[10], %2:f64[8], %3:f64[8]) {
  %4:f64[8] = slice %1 starts=[2] lengths=[8] strides=[1]
  %5:f64[8] = multiply %4, %4
  %6:f64[8] = multiply f64(-0.5), %5
  %7:f64 = sum %6 axes=[0] keep_axes=false
  %8:f64[1] = slice %1 starts=[0] lengths=[1] strides=[1]
  %9:f64 = reshape %8
  %10:f64 = exp %9
  %11:f64 = divide %10, s32(5)
  %12:f64 = pow %11, s32(2)
  %13:f64 = log1p %12
  %14:f64 = subtract %9, %13
  %15:f64[1] = slice %1 starts=[1] lengths=[1] strides=[1]
  %16:f64 = reshape %15
  %17:f64 = divide %16, s32(5)
  %18:f64 = multiply %17, %17
  %19:f64 = multiply f64(-0.5), %18
  %20:f64[8] = multiply %10, %4
  %21:f64[8] = add %16, %20
  %22:f64[8] = subtract %2, %21
  %23:f64[8] = divide %22, %3
  %24:f64[8] = multiply %23, %23
  %25:f64[8] = multiply f64(-0.5), %24
  %26:f64 = sum %25 axes=[0] keep_axes=false
  %27:f64 = add %19, %26
  %28:f64 = add %14, %27
  %29:f64 = add %7, %28
  %30:f32[10] = constant f32(0)
  %31:f64[8] = multiply f64(-1), %23
  %32:f64[8] = divide %31, %3
  %33:f64[8] = negate %32
  %34:f64 = sum %33 axes=[0] keep_axes=false
  %35:f64 = multiply f64(-1), %17
  %36:f64 = divide %35, s32(5)
  %37:f64 = add %34, %36
  %38:f64[1] = reshape %37
  %39:f64[1] = pad %38, f32(0) config=[0,0,0]
  %40:f64[10] = put_slice %30, %39, s32(1) starts=[]
  %41:f64[8] = multiply %33, %4
  %42:f64 = sum %41 axes=[0] keep_axes=false
  %43:f64 = add s32(1), %12
  %44:f64 = divide f64(-1), %43
  %45:f64 = multiply %44, %11
  %46:f64 = multiply f64(2), %45
  %47:f64 = divide %46, s32(5)
  %48:f64 = add %42, %47
  %49:f64 = multiply %48, %10
  %50:f64 = add f64(1), %49
  %51:f64[1] = reshape %50
  %52:f64[1] = pad %51, f32(0) config=[0,0,0]
  %53:f64[10] = put_slice %30, %52, s32(0) starts=[]
  %54:f64[8] = multiply %33, %10
  %55:f64[8] = multiply f64(-1), %4
  %56:f64[8] = add %54, %55
  %57:f64[8] = pad %56, f32(0) config=[0,0,0]
  %58:f64[10] = put_slice %30, %57, s32(2) starts=[]
  %59:f64[10] = add %53, %58
  %60:f64[10] = add %40, %59
  give %29, %60
}`

// schoolsDensity is that of the eight schools, with their data.
func schoolsDensity(t testing.TB) *density {
	f := func(xs ...float64) fallback.Value {
		return fallback.Value{Type: ops.Type{DType: ops.F64, Shape: ops.Shape{len(xs)}}, Data: rig.F64s(xs...)}
	}
	return &density{program: &program.Program{Region: parsed(t, schools)}, typ: ops.Type{DType: ops.F64, Shape: ops.Shape{10}},
		data: []fallback.Value{f(28, 8, -3, 7, -1, 1, 18, 12), f(15, 10, 16, 11, 9, 11, 10, 18)}}
}

func parsed(t testing.TB, text string) *ops.Region {
	t.Helper()
	r, err := notation.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestHosted: a density on the host has the bits that its instructions have one by one.
func TestHosted(t *testing.T) {
	d := schoolsDensity(t)
	h := d.hosted()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		q := make([]float64, 10)
		for i := range q {
			q[i] = random.NormFloat64() * math.Exp(3*random.NormFloat64())
		}
		s, err := h.Start(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		want := oneByOne(t, d.program.Region, append([]fallback.Value{{Type: d.typ, Data: rig.F64s(q...)}}, d.data...))
		if !bytes.Equal(rig.F64s(s.LogP), want[0].Data) || !bytes.Equal(rig.F64s(s.Grad...), want[1].Data) {
			t.Fatalf("at %v: got %v and %v, want %v and %v", q, s.LogP, s.Grad, floatsOf(want[0].Data, ops.F64), floatsOf(want[1].Data, ops.F64))
		}
	}
}

// oneByOne runs straight-line code an instruction after the other.
func oneByOne(t *testing.T, r *ops.Region, params []fallback.Value) []fallback.Value {
	t.Helper()
	values := make(map[ops.ID]fallback.Value)
	for i, p := range r.Params {
		values[p.ID] = params[i]
	}
	of := func(list []ops.Operand) (out []fallback.Value) {
		for _, o := range list {
			if v, ok := values[o.ID]; ok && o.Lit == nil {
				out = append(out, v)
			} else {
				out = append(out, fallback.Value{Type: o.Lit.Type, Data: o.Lit.Data})
			}
		}
		return out
	}
	for i := range r.Body {
		in := &r.Body[i]
		out := fallback.Value{Type: in.Outs[0].Type, Data: make([]byte, in.Outs[0].Type.Bytes())}
		if err := fallback.Run(in, of(in.Ins), []fallback.Value{out}); err != nil {
			t.Fatal(err)
		}
		values[in.Outs[0].ID] = out
	}
	return of(r.Values)
}

// gaps are normal densities that have no value at places: right of 1 a system has no
// solution, or an index leads outside.
var gaps = map[string]string{
	"singular": `(%1:f64[1]) {
  %2:f64 = reshape %1
  %3:f64[1] = max %1, f64(1)
  %4:f64[1] = subtract %3, %1
  %5:f64[1,1] = reshape %4
  %6:f64[1] = triangular_solve %5, f64[1](0) lower=true left_side=true transform_a=none
  %7:f64[1] = multiply %1, %1
  %8:f64[1] = add %7, %6
  %9:f64 = sum %8 axes=[0] keep_axes=false
  %10:f64 = multiply %9, f64(-0.5)
  %11:f64[1] = negate %1
  give %10, %11
}`,
	"index": `(%1:f64[1]) {
  %2:f64[1] = max %1, f64(1)
  %3:f64[1] = subtract %2, f64(1)
  %4:f64[1] = ceil %3
  %5:s32[1] = as_type %4
  %6:f64[1] = take f64[1](0), %5 axis=0
  %7:f64[1] = multiply %1, %1
  %8:f64[1] = add %7, %6
  %9:f64 = sum %8 axes=[0] keep_axes=false
  %10:f64 = multiply %9, f64(-0.5)
  %11:f64[1] = negate %1
  give %10, %11
}`,
}

// TestGaps: where an instruction of a density has no result, a chain rejects the step,
// goes on, and tells how often and why.
func TestGaps(t *testing.T) {
	for name, text := range gaps {
		rigs(t, func(r *bench) {
			q := r.Session()
			r.Define(q, name, parsed(t, text))
			const chains = 2
			ends, draws, divergent := make([]Chunk, chains), 0, 0
			r.sampler.Sample(q, &wire.Sample{Density: wire.Density{Program: name, Type: ops.F64, Dim: 1}, Chains: chains, Chunk: 50,
				Options: nuts.Options{Warmup: 200, Draws: 400, Seed: 3}}, func(_ int, err error) {
				if err != nil {
					t.Fatal(err)
				}
			}, func(_ int, c Chunk) bool {
				for _, d := range c.Draws {
					if draws++; d.Divergent {
						divergent++
					}
					if d.Q[0] > 1 {
						t.Errorf("%s: a draw at %v", name, d.Q)
					}
				}
				if c.Draws == nil {
					ends[c.Chain] = c
				}
				return true
			})
			r.Until(func() bool { return ends[0].End != nil && ends[1].End != nil })
			failures := 0
			for _, c := range ends {
				n, why := c.End.Failures()
				failures += n
				if c.Err != nil || n > 0 && why == nil {
					t.Errorf("%s: chain %d ended with %v after %d failures (%v)", name, c.Chain, c.Err, n, why)
				}
			}
			if draws != chains*400 || divergent == 0 || failures < divergent {
				t.Errorf("%s: %d draws, %d divergences, %d failures", name, draws, divergent, failures)
			}
		})
	}
}

// endlessDensity is a density whose loop has no end.
const endlessDensity = `(%1:f64[1]) {
  %2:f64 = sum %1 axes=[0] keep_axes=false
  %3:f64 = while %2 condition(%4:f64) {
    give u8(1)
  } body(%5:f64) {
    %6:f64 = add %5, f64(1)
    give %6
  }
  give %3, %1
}`

// TestEndless: chains whose density never has an answer end when the run is stopped, or
// their session is gone.
func TestEndless(t *testing.T) {
	r := newRig(t, nil)
	begin := func(q *exec.Queue) (run int, end *Chunk) {
		r.Define(q, "endless", parsed(t, endlessDensity))
		end = new(Chunk)
		r.sampler.Sample(q, &wire.Sample{Density: wire.Density{Program: "endless", Type: ops.F64, Dim: 1}, Chains: 1, Chunk: 1},
			func(n int, err error) {
				if err != nil {
					t.Fatal(err)
				}
				run = n
			}, func(_ int, c Chunk) bool {
				*end = c
				return true
			})
		r.Until(func() bool { return run > 0 })
		return run, end
	}
	q := r.Session()
	run, end := begin(q)
	r.sampler.Stop(q, run)
	r.Until(func() bool { return end.End != nil })
	if !errors.Is(end.Err, context.Canceled) {
		t.Errorf("it ended with %v", end.Err)
	}
	begin(q)
	r.Exec.End(q.Session)
	r.Until(func() bool { return len(runsOf(q).active) == 0 })
}

func BenchmarkDensity(b *testing.B) {
	d := schoolsDensity(b)
	h := d.hosted()
	s, err := h.Start(b.Context(), []float64{4, 1, .1, .2, -.3, .4, .5, -.6, .7, .8})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("evaluation", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = h.at(b.Context(), s)
		}
	})
	b.Run("step", func(b *testing.B) {
		s.P = make([]float64, len(s.Q))
		metric := slices.Repeat([]float64{1}, len(s.Q))
		b.ReportAllocs()
		for b.Loop() {
			_, _ = h.Steps(b.Context(), metric, []nuts.Segment{{From: s, Eps: 0.1, Steps: 1}})
		}
	})
}
