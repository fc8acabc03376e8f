package wire

import (
	"reflect"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// kinds are those of errors that decoding may give.
var kinds = map[Kind]bool{BadRequest: true, UnknownOp: true, BadArgument: true, OutOfMemory: true}

// addSeed adds the encoding of a term to the seeds of a fuzzing target.
func addSeed(f *testing.F, t etf.Term) {
	f.Helper()
	b, err := etf.Append(nil, t)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
}

// FuzzStream decodes any term as a message of instructions. A request that can
// be read means the same when it is written again; any other is an error that
// can be sent.
func FuzzStream(f *testing.F) {
	for _, t := range streamSeeds() {
		addSeed(f, t)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		term, _, err := etf.Decode(b)
		if err != nil {
			return
		}
		s, ok := DecodeStream(term)
		if !ok {
			return
		}
		good := Stream{Incarnation: s.Incarnation}
		for _, in := range s.Instrs {
			if in.Err == nil {
				good.Instrs = append(good.Instrs, in)
				continue
			}
			encoded(t, ErrorTerm(in.Err))
			if kind := KindOf(in.Err); !kinds[kind] {
				t.Fatalf("error %q is of kind %s", in.Err, kind)
			}
		}
		again, _, err := etf.Decode([]byte(encoded(t, streamTerm(good))))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := DecodeStream(again)
		if !ok || got.Incarnation != good.Incarnation || len(got.Instrs) != len(good.Instrs) {
			t.Fatalf("got %v, want %v", got, good)
		}
		for i := range got.Instrs {
			if !reflect.DeepEqual(got.Instrs[i], good.Instrs[i]) {
				t.Fatalf("instruction %d: got %v, want %v", i, got.Instrs[i], good.Instrs[i])
			}
		}
	})
}

// streamSeeds has an instruction of each operation, and some that are wrong.
func streamSeeds() (seeds []etf.Term) {
	values := map[ops.AttrKind][]int{ops.Int: {1}, ops.Ints: {0, 1}, ops.Bool: {1}, ops.Enum: {1}, ops.Pads: {1, 2, 3},
		ops.Pairs: {1, 2}, ops.TypeOf: {int(ops.F32)}, ops.Real64: {1 << 62}}
	typ := ops.Type{DType: ops.F32, Shape: ops.Shape{2}}
	for op := range ops.Count {
		in := Instr{Name: op.String(), Instr: ops.Instr{Op: op, Outs: []ops.Result{{ID: 1 + ops.ID(op), Type: typ}}}}
		if op == ops.Import {
			in.Shared = &Shared{Owner: etf.Pid{Node: "a@b", ID: 1}, Key: 1 << 63, ID: 4}
		} else {
			in.Ins = []ops.Operand{{ID: 3}, {Lit: &ops.Literal{Type: typ, Data: make([]byte, 8)}}}
		}
		for _, a := range op.Info().Attrs {
			in.Attrs = append(in.Attrs, values[a.Kind])
		}
		seeds = append(seeds, streamTerm(Stream{Incarnation: uint64(op), Instrs: []Instr{in}}))
	}
	return append(seeds,
		tuple{atom("nxvk"), list{tuple{atom("add"), f32out, list{atom("x")}, list(nil)}}},
		tuple{atom("nxvk"), list{tuple{atom("add"), list{int64(1), f32out[0]}, list(nil), list(nil)}, int64(3)}},
		tuple{atom("nxvk"), list{tuple{atom("no such"), f32out, list(nil), list(nil)}}},
	)
}

// FuzzRequest decodes any term as a call.
func FuzzRequest(f *testing.F) {
	for _, r := range []Request{
		{Verb: Sync}, {Verb: Close}, {Verb: Memory}, {Verb: Info, Incarnation: 9}, {Verb: Describe, ID: 4},
		{Verb: Download, ID: 1, Offset: 2, Count: 3, Incarnation: 7},
		{Verb: Open, Options: Options{Limit: 5, LimitSet: true, Label: "a", Digest: "b", Sweep: true, Flow: true, Deadline: 5 * time.Second, DeadlineSet: true, Weight: 3}},
	} {
		for _, t := range []etf.Term{requestTerm(r), tuple{atom("then"), list{f32out}, requestTerm(r)}} {
			addSeed(f, t)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		term, _, err := etf.Decode(b)
		if err != nil {
			return
		}
		r, err := DecodeRequest(term)
		if err != nil {
			encoded(t, ErrorTerm(err))
			if kind := KindOf(err); kind != BadRequest {
				t.Fatalf("error %q is of kind %s", err, kind)
			}
			return
		}
		again, _, err := etf.Decode([]byte(encoded(t, requestTerm(r))))
		if err != nil {
			t.Fatal(err)
		}
		r.First = nil // FuzzStream has its like
		if got, err := DecodeRequest(again); err != nil || got != r {
			t.Fatalf("got %+v, %v, want %+v", got, err, r)
		}
	})
}
