package exec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/ops/shard"
	"nxvk/synth/spmd"
	"nxvk/test/draw"
	"nxvk/test/fewtest"
)

// drawShare divides the parameters of a program over ranks in a row, where that is possible.
func drawShare(rng *rand.Rand, r *ops.Region, ranks int) shard.Share {
	p := shard.Share{Shape: []int{ranks}}
	for _, param := range r.Params {
		s := shard.Whole(len(param.Type.Shape))
		if d := rng.IntN(len(s)); param.Type.Shape[d]%ranks == 0 {
			s[d] = []int{0}
		}
		p.Params = append(p.Params, s)
	}
	return p
}

// cut returns the elements of a rank's part of a value.
func cut(v []float64, t ops.Type, p *shard.Share, s shard.Sharding) (out []float64) {
	local := p.Local(t, s)
	for i := range local.Size() {
		at, left := 0, i
		for d, stride := range local.Shape.Strides() {
			k := left / stride
			left %= stride
			if len(s[d]) > 0 {
				k += p.Rank * local.Shape[d]
			}
			at += k * t.Shape.Strides()[d]
		}
		out = append(out, v[at])
	}
	return out
}

// TestShares: drawn programs that are divided over the devices of a mesh compute the values of the whole, when they are
// interpreted and when they are compiled.
func TestShares(t *testing.T) {
	fleets(t, func(f *fleet) {
		divided := 0
		for seed := range uint64(fewtest.Of(16, 8)) {
			rng := rand.New(rand.NewPCG(seed, 18))
			r := draw.Program(seed, 8)
			share := drawShare(rng, r, len(f.rigs))
			operands := make([][]float64, len(r.Params))
			for i, p := range r.Params {
				operands[i] = draw.Decode(draw.Whole(rng, p.Type), p.Type)
				if len(share.Params[i][0])+len(share.Params[i][1]) > 0 {
					divided++
				}
			}
			for round := range 2 {
				f.compare(fmt.Sprint("program ", seed), uint64(10*int(seed)+round+1), r, share, operands)
			}
		}
		if divided < 5 {
			t.Errorf("only %d operands were divided", divided)
		}
		f.idle()
		for rank, q := range f.qs {
			if n := q.Session.Bytes(); n != 0 {
				t.Errorf("rank %d: %d bytes are left", rank, n)
			}
		}
	})
}

// compare runs a program on all ranks, and whole on the first one.
func (f *fleet) compare(key string, round uint64, r *ops.Region, share shard.Share, operands [][]float64) {
	f.Helper()
	whole, err := r.CheckProgram()
	if err != nil {
		f.Fatal(err)
	}
	var results []ops.Result
	for i, t := range whole {
		results = append(results, res(ops.ID(50+i), t))
	}
	first, q := f.rigs[0], f.qs[0]
	first.Define(q, key+" whole", r)
	for i, p := range r.Params {
		f.tensor(0, ops.ID(1+i), p.Type, draw.Encode(operands[i], p.Type))
	}
	f.run(0, key+" whole", 0, results, uses(1, 2)...)
	want := make([][]float64, len(results))
	for i, o := range results {
		data, err := first.bytesOf(q, o.ID)
		if err != nil {
			f.Fatalf("%s: %v", key, err)
		}
		want[i] = draw.Decode(data, o.Type)
	}
	shardings := make([][]shard.Sharding, len(f.rigs))
	for rank := range f.rigs {
		p := share
		p.Rank = rank
		shardings[rank] = f.start(key, round, rank, r, &p, operands)
	}
	for rank, rig := range f.rigs {
		p := share
		p.Rank = rank
		for i, t := range whole {
			local := p.Local(t, shardings[rank][i])
			data, err := rig.bytesOf(f.qs[rank], ops.ID(60+i))
			if err != nil {
				f.Fatalf("%s: rank %d: %v", key, rank, err)
			}
			got, wanted := draw.Decode(data, local), cut(want[i], t, &p, shardings[rank][i])
			for k := range got {
				if math.Abs(got[k]-wanted[k]) > 1e-4*(1+math.Abs(wanted[k])) {
					f.Fatalf("%s by %v: rank %d, value %d: got %v, want %v", key, share.Params, rank, i, got, wanted)
				}
			}
		}
		rig.Do(f.qs[rank], ops.Free, 0, ops.Type{}, [][]int{{1, 2, 50, 51, 52, 60, 61, 62}})
	}
}

// start runs a rank's share of a program.
func (f *fleet) start(key string, round uint64, rank int, r *ops.Region, p *shard.Share, operands [][]float64) (s []shard.Sharding) {
	f.Helper()
	rig, q := f.rigs[rank], f.qs[rank]
	rig.exec.Stream(q, []wire.Instr{{Name: "program", Instr: ops.Instr{Op: ops.Program}, Defines: wire.Defines{Key: key, Program: r, Share: p}}})
	var results []ops.Result
	told := false
	rig.exec.Shares(q, key, func(share *spmd.Result, err error) {
		if err != nil {
			f.Fatal(err)
		}
		told, s = true, share.Values
		for i, t := range share.Types {
			results = append(results, res(ops.ID(60+i), p.Local(t, s[i])))
		}
	})
	rig.Until(func() bool { return told })
	for i, param := range r.Params {
		local := p.Local(param.Type, p.Params[i])
		f.tensor(rank, ops.ID(1+i), local, draw.Encode(cut(operands[i], param.Type, p, p.Params[i]), local))
	}
	f.run(rank, key, round, results, uses(1, 2)...)
	return s
}
