package exec

import (
	"bytes"
	"math"
	"testing"

	"nxvk/ops"
	"nxvk/test/draw/model"
	"nxvk/test/fewtest"
)

// ways are how runs of a model are disturbed; none of them changes a bit.
var ways = []struct {
	name    string
	disturb func(r *rig)
	before  func(r *rig) // the third run; with all cases, the second and the fourth, too
}{
	{"plain", func(*rig) {}, func(*rig) {}},
	{"small work on the host", func(r *rig) { r.limitHost(1) }, func(*rig) {}},
	{"short turns", func(r *rig) { r.exec.queues.turns.Time = 0 }, func(*rig) {}},
	{"cut often", func(r *rig) { r.exec.specializer.Cutting.Longest = 7 }, func(*rig) {}},
	{"kernels evicted", func(*rig) {}, func(r *rig) { r.exec.kernels.Clear() }},
	{"cut, in short turns, and evicted", func(r *rig) {
		r.exec.specializer.Cutting.Longest, r.exec.queues.turns.Time = 41, 0
	}, func(r *rig) { r.exec.kernels.Clear() }},
	{"node started again", func(r *rig) { r.another(&drawer{byKey: make(map[string][]byte)}) }, func(r *rig) {
		r.Built()
		r.another(r.exec.core.target.Archive.(*drawer))
	}},
}

// TestModelsSame: whole models give the same bits when they are seen first and again, and when each instruction is carried
// out by itself: also where turns are short, code is cut often, kernels are evicted, and two runs are under way.
func TestModelsSame(t *testing.T) {
	lazily(t, func(r *rig) {
		for seed := range uint64(fewtest.Of(3*len(ways), len(ways))) {
			r.sameModel(seed)
		}
	})
}

// sameModel compares the runs of a model with one whose instructions are carried out one by one.
func (r *rig) sameModel(seed uint64) {
	w := ways[int(seed)%len(ways)]
	r.T.Run(w.name, func(t *testing.T) {
		plain, own := newRig(t, r.Dev), newRig(t, r.Dev)
		*plain.exec.core.target, *own.exec.core.target = *r.exec.core.target, *r.exec.core.target
		plain.exec.core.cfg.OneByOne = true
		w.disturb(own)
		if own.exec.dispatcher.HostLimit > 0 {
			plain.limitHost(own.exec.dispatcher.HostLimit)
		}
		m := model.Draw(seed, model.Small, fewtest.Of(2, 1))
		data := m.Data()
		want := plain.models(plain.session(), m, data, 1, 1)[0]
		q := own.session()
		for i := range 4 {
			if i == 2 || i > 0 && !testing.Short() {
				e := own.exec
				if w.before(own); own.exec != e {
					e.End(q.Session)
					q = own.session()
				}
			}
			for _, got := range own.models(q, m, data, 1000*(i+1), 1+i%2) {
				for k := range want {
					if !bytes.Equal(got[k], want[k]) {
						t.Fatalf("seed %d, %s: run %d gives other bits of result %d than one instruction after the other", seed, m.Title, i, k)
					}
				}
			}
			if i != 1 {
				own.Built()
			}
		}
		if q.programs.Find(m.Title).Compiled() == nil {
			t.Errorf("seed %d, %s: it has no fusions", seed, m.Title)
		}
	})
}

// models has so many runs of a model be under way together. The last one has the operands alone.
func (r *rig) models(q *Queue, m *model.Model, data [][]byte, at, runs int) (all [][][]byte) {
	r.Helper()
	p := m.Program()
	types, err := p.CheckProgram()
	if err != nil {
		r.Fatal(err)
	}
	if q.programs.Find(m.Title) == nil {
		r.Define(q, m.Title, p)
	}
	id := ops.ID(at * 1000)
	var ins []ops.Operand
	var uploads []int
	for i, param := range p.Params {
		lit := ops.Operand{Lit: &ops.Literal{Type: param.Type, Data: data[i]}}
		if m.Scalar(param) {
			ins = append(ins, lit)
			continue
		}
		id++
		r.Do(q, ops.Tensor, id, param.Type, nil, lit)
		ins, uploads = append(ins, ref(id)), append(uploads, int(id))
	}
	var outs [][]ops.Result
	for range runs {
		var list []ops.Result
		for _, t := range types {
			id++
			list = append(list, res(id, t))
		}
		r.run(q, m.Title, list, ins...)
		outs = append(outs, list)
	}
	r.Do(q, ops.Free, 0, ops.Type{}, [][]int{uploads})
	for _, list := range outs {
		var values [][]byte
		for _, o := range list {
			values = append(values, r.bytes(q, o.ID))
			r.Free(q, o.ID)
		}
		all = append(all, values)
	}
	return all
}

// bytes reads all elements of a value.
func (r *rig) bytes(q *Queue, id ops.ID) (out []byte) {
	r.Helper()
	done := false
	r.exec.Read(q, id, 0, math.MaxInt, func(d Data, err error) {
		if done = true; err != nil {
			r.Errorf("value %d: %v", id, err)
		}
		if out = bytes.Clone(d.Bytes); d.Release != nil {
			d.Release()
		}
	})
	r.Until(func() bool { return done })
	return out
}
