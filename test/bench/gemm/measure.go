package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"nxvk/ops"
	"nxvk/synth/gemm"
	device "nxvk/test/gemm"
	"nxvk/vulkan"
)

// candidate is a plan to time.
type candidate struct {
	name  string
	plan  *gemm.Plan
	exact bool // sums in the order of the reference
}

// referenceLimit bounds the multiplications that the plain kernel is asked
// for; beyond, the first candidate is the reference of the others.
const referenceLimit = 1 << 37

// measure times every candidate for a problem and returns how many are wrong.
func measure(r *device.Runner, o *options, p gemm.Problem, layout string) (wrong int, err error) {
	list, err := candidates(r, o, p)
	if err != nil {
		return 0, err
	}
	bufs, err := operands(r, &p)
	if err != nil {
		return 0, err
	}
	defer bufs.Free()
	var want []byte
	if p.M*p.N*p.K*p.Batch <= referenceLimit {
		ref, err := gemm.Reference(p, &r.Target)
		if err != nil {
			return 0, err
		}
		if want, err = result(r, ref, bufs); err != nil {
			return 0, err
		}
	}
	for _, c := range list {
		start := time.Now()
		got, err := result(r, c.plan, bufs)
		if err != nil {
			return wrong, fmt.Errorf("%s: %w", c.name, err)
		}
		ready := time.Since(start)
		verdict, ok := check(&p, got, want, c.exact)
		if !ok {
			wrong++
		}
		if want == nil {
			want = got
		}
		per, err := timeProduct(r, o, c.plan, bufs)
		if err != nil {
			return wrong, fmt.Errorf("%s: %w", c.name, err)
		}
		flops := 2 * float64(p.M) * float64(p.N) * float64(p.K) * float64(p.Batch)
		shape := fmt.Sprintf("%dx%dx%d", p.M, p.N, p.K)
		if p.Batch > 1 {
			shape += fmt.Sprintf("x%d", p.Batch)
		}
		fmt.Printf("%-5v %-18s %-3s %-26s %10.2f %10.1f %9.0f  %s\n", p.Type, shape, layout, c.name,
			per*1e6, flops/per/1e9, ready.Seconds()*1e3, verdict)
	}
	return wrong, nil
}

func candidates(r *device.Runner, o *options, p gemm.Problem) ([]candidate, error) {
	plan, err := gemm.New(p, &r.Target)
	if err != nil {
		return nil, err
	}
	k := plan.Steps[0].Kernel
	name := fmt.Sprint(strings.TrimPrefix(strings.SplitN(k.Shader, ".", 2)[0], "gemm_"), k.Spec)
	list := []candidate{{name, plan, len(plan.Steps) == 1 && !strings.Contains(k.Shader, "narrow")}}
	if !o.tiles {
		return list, nil
	}
	if plan, err = gemm.Reference(p, &r.Target); err != nil {
		return nil, err
	}
	list = append(list, candidate{"plain", plan, true})
	if plan, err = gemm.WithSmall(p, &r.Target); err == nil {
		list = append(list, candidate{fmt.Sprint("small", plan.Steps[0].Kernel.Spec), plan, plan.Partial == 0})
	}
	for _, c := range gemm.Tiles(p.Type, true) {
		for _, s := range strings.Split(o.shares, ",") {
			shares, err := strconv.Atoi(s)
			if err != nil || shares < 1 {
				return nil, fmt.Errorf("shares %q are not numbers", o.shares)
			}
			plan, err := gemm.WithTile(p, c, shares, &r.Target)
			if errors.Is(err, gemm.ErrTooLarge) {
				continue
			}
			if err != nil {
				return nil, err
			}
			list = append(list, candidate{fmt.Sprintf("%v /%d", c, shares), plan, plan.Partial == 0})
		}
	}
	return list, nil
}

func operands(r *device.Runner, p *gemm.Problem) (*device.Operands, error) {
	o := &device.Operands{}
	s := r.Device.Stream()
	size := p.Type.Size()
	for i, x := range []struct {
		b **vulkan.Buffer
		n int
	}{{&o.A, p.M * p.K}, {&o.B, p.K * p.N}, {&o.C, p.M * p.N}} {
		b, err := r.Device.Alloc(x.n * p.Batch * size)
		if err != nil {
			return nil, err
		}
		*x.b = b
		if i < 2 {
			if err := s.Upload(b, 0, random(p.Type, x.n*p.Batch, uint64(i+1))); err != nil {
				return nil, err
			}
		}
	}
	return o, r.Finish(s)
}

// random has integers of all bits, or floats in [-1, 1).
func random(d ops.DType, n int, seed uint64) []byte {
	out := make([]byte, 0, n*d.Size())
	x := seed * 0x9e3779b97f4a7c15
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		switch {
		case d == ops.F32:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(int32(x>>32))*0x1p-31))
		case d == ops.F64:
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(float64(int64(x))*0x1p-63))
		case d.Size() == 4:
			out = binary.LittleEndian.AppendUint32(out, uint32(x>>32))
		default:
			out = binary.LittleEndian.AppendUint64(out, x)
		}
	}
	return out
}

// result runs a plan over a result full of garbage and returns it.
func result(r *device.Runner, plan *gemm.Plan, o *device.Operands) ([]byte, error) {
	s := r.Device.Stream()
	if err := s.Fill(vulkan.WriteOnly(o.C), 0x7fc0dead, o.C.Len()); err != nil {
		return nil, err
	}
	if err := r.Reserve(o, plan); err != nil {
		return nil, err
	}
	if err := r.Record(s, plan, o); err != nil {
		return nil, err
	}
	if err := r.Finish(s); err != nil {
		return nil, err
	}
	return r.Read(o.C)
}

// check compares with the reference: bit for bit, or, if the order of the sums
// differs, by the largest distance of an element, as a multiple of k rounding
// errors of terms below 1.
func check(p *gemm.Problem, got, want []byte, exact bool) (string, bool) {
	if want == nil {
		return "reference of the next", true
	}
	if bytes.Equal(got, want) {
		return "same bits", true
	}
	if exact || p.Type.IsInteger() {
		return "WRONG", false
	}
	worst := 0.0
	for i := 0; i < len(got); i += p.Type.Size() {
		worst = max(worst, math.Abs(value(p.Type, got[i:])-value(p.Type, want[i:])))
		if math.IsNaN(value(p.Type, got[i:])) {
			return "WRONG", false
		}
	}
	eps := 0x1p-23
	if p.Type == ops.F64 {
		eps = 0x1p-52
	}
	if worst /= eps * float64(p.K); worst > 1 {
		return "WRONG", false
	}
	return fmt.Sprintf("within %.3f k·eps", worst), true
}

func value(d ops.DType, b []byte) float64 {
	if d == ops.F32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// timeProduct returns the seconds of one product in a chain, each waiting for the
// one before; the first chains wake the clock of the device up. Products take turns with the operands.
func timeProduct(r *device.Runner, o *options, plan *gemm.Plan, bufs ...*device.Operands) (float64, error) {
	for _, b := range bufs {
		if err := r.Reserve(b, plan); err != nil {
			return 0, err
		}
	}
	chain := func(n int) (float64, error) {
		s := r.Device.Stream()
		for i := range n {
			if err := r.Record(s, plan, bufs[i%len(bufs)]); err != nil {
				return 0, err
			}
		}
		start := time.Now()
		err := r.Finish(s)
		return time.Since(start).Seconds() / float64(n), err
	}
	return bestOf(o.budget.Seconds(), chain)
}

// bestOf gives the seconds of one of a chain, the best of five chains that take the
// time of a measurement.
func bestOf(budget float64, chain func(n int) (float64, error)) (float64, error) {
	per, n := 0.0, 1
	for spent := 0.0; spent < 2*budget || n < 20 && per*20 < budget; {
		var err error
		if per, err = chain(n); err != nil {
			return 0, err
		}
		spent += per * float64(n)
		n = max(1, min(2*n, int(budget/per), 2000))
	}
	best := math.Inf(1)
	for range 5 {
		per, err := chain(n)
		if err != nil {
			return 0, err
		}
		best = min(best, per)
	}
	return best, nil
}
