package wire

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// twice is the region x -> x + x of f32{2, 3}, as a term.
func twice() tuple {
	typ := func(id int64) tuple { return tuple{id, atom("f32"), tuple{int64(2), int64(3)}} }
	return tuple{list{typ(1)}, list{tuple{atom("add"), list{typ(2)}, list{int64(1), int64(1)}, list(nil)}}, list{int64(2)}}
}

func program(key, region etf.Term) tuple {
	return tuple{atom("program"), list(nil), list(nil), list{key, region}}
}

func TestProgram(t *testing.T) {
	in := stream(t, program([]byte("k"), twice()))
	if in.Err != nil || in.Broken != nil || in.Key != "k" || in.Op != ops.Program {
		t.Fatalf("%+v", in)
	}
	types, err := in.Program.CheckProgram()
	if err != nil || len(types) != 1 || types[0].String() != "f32{2, 3}" {
		t.Errorf("values %v, %v", types, err)
	}
}

func TestRun(t *testing.T) {
	pid := etf.Pid{Node: "a@b", ID: 3}
	in := stream(t, tuple{atom("run"), f32out, list{int64(1)}, list{[]byte("k"), pid}})
	if in.Err != nil || in.Key != "k" || in.Callbacks == nil || *in.Callbacks != pid || len(in.Ins) != 1 {
		t.Errorf("%+v", in)
	}
	in = stream(t, tuple{atom("run"), f32out, list(nil), list{[]byte("k"), atom("nil")}})
	if in.Err != nil || in.Callbacks != nil {
		t.Errorf("%+v", in)
	}
	in = stream(t, tuple{atom("run"), f32out, list(nil), list{[]byte("k"), atom("nil"), atom("nil"), int64(7)}})
	if in.Err != nil || in.Context != nil || in.Round != 7 {
		t.Errorf("%+v", in)
	}
	for _, more := range []list{{atom("x")}, {atom("nil"), int64(0)}, {atom("nil"), atom("nil")}, {atom("nil"), int64(1), int64(1)}} {
		if in = stream(t, tuple{atom("run"), f32out, list(nil), append(list{[]byte("k"), atom("nil")}, more...)}); in.Err == nil {
			t.Errorf("%v is taken", more)
		}
	}
}

func TestForget(t *testing.T) {
	forget := func(keys etf.Term) *Instr {
		return stream(t, tuple{atom("forget"), list(nil), list(nil), list{keys}})
	}
	if in := forget(list{[]byte("a"), []byte("b")}); in.Err != nil || in.Op != ops.Forget || len(in.Keys) != 2 || in.Keys[1] != "b" {
		t.Errorf("%+v", in)
	}
	if in := forget(list(nil)); in.Err != nil || len(in.Keys) != 0 {
		t.Errorf("%+v", in)
	}
	for _, keys := range []etf.Term{[]byte("a"), list{int64(1)}, list{[]byte{}}, list{make([]byte, MaxKey+1)}} {
		if in := forget(keys); in.Err == nil {
			t.Errorf("keys %v are taken", keys)
		}
	}
}

// TestRegions: an attribute that is a region, which has one of its own.
func TestRegions(t *testing.T) {
	scalar := tuple{int64(4), atom("f32"), tuple{}}
	function := tuple{list{scalar, tuple{int64(5), atom("f32"), tuple{}}}, list(nil), list{int64(5)}}
	in := stream(t, tuple{atom("reduce"), f32out, list{int64(1), int64(2)}, list{list{int64(0)}, atom("false"), function}})
	if in.Err != nil || len(in.Regions) != 1 || len(in.Regions[0].Params) != 2 || in.Attrs[2] != nil {
		t.Errorf("%+v", in)
	}
}

// TestMalformedPrograms: what a program lacks is kept for its runs; what names
// no program is an error at once.
func TestMalformedPrograms(t *testing.T) {
	deep := twice()
	for range ops.MaxDepth + 2 {
		branch := tuple{atom("branch"), f32out, list{int64(1)}, list{deep, twice()}}
		deep = tuple{list(nil), list{branch}, list{int64(7)}}
	}
	for _, c := range []struct {
		name   string
		region etf.Term
		want   string
	}{
		{"no tuple", list(nil), "a region is"},
		{"no list", tuple{list(nil), atom("x"), list(nil)}, "the instructions of a region are a list"},
		{"an instruction", tuple{list(nil), list{tuple{atom("fly"), list(nil), list(nil), list(nil)}}, list(nil)}, "instruction 0 (fly)"},
		{"a parameter", tuple{list{atom("x")}, list(nil), list(nil)}, "parameters: a result is"},
		{"a value", tuple{list(nil), list(nil), list{atom("x")}}, "values: operand 0"},
		{"too deep", deep, "more than 1000 deep"},
	} {
		in := stream(t, program([]byte("k"), c.region))
		if in.Err != nil || in.Broken == nil || !strings.Contains(in.Broken.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", c.name, in.Err, in.Broken, c.want)
		}
	}
	for _, key := range []etf.Term{atom("k"), []byte{}, make([]byte, MaxKey+1)} {
		if in := stream(t, program(key, twice())); in.Err == nil {
			t.Errorf("key %v is accepted", key)
		}
	}
	if in := stream(t, tuple{atom("run"), f32out, list(nil), list{[]byte("k"), atom("x")}}); in.Err == nil {
		t.Error("callbacks that are an atom are accepted")
	}
}

func TestAnswer(t *testing.T) {
	answer := func(result etf.Term) tuple { return tuple{atom("nxvk_answer"), int64(7), int64(1), result} }
	a, err := DecodeAnswer(answer(tuple{atom("ok"), list{[]byte{1}, []byte{2, 3}}}))
	if err != nil || a.Err != nil || a.Run != 7 || a.Ref != 1 || len(a.Data) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	if a, _ = DecodeAnswer(answer(tuple{atom("error"), []byte("no")})); a.Err == nil || a.Err.Error() != "no" {
		t.Errorf("%+v", a)
	}
	for _, result := range []etf.Term{atom("x"), tuple{atom("ok"), atom("x")}, tuple{atom("ok"), list{int64(1)}}, tuple{atom("error"), int64(1)}} {
		if a, err := DecodeAnswer(answer(result)); err != nil || a.Err == nil {
			t.Errorf("%v: %+v, %v", result, a, err)
		}
	}
	if _, err := DecodeAnswer(tuple{atom("nxvk_answer"), atom("x"), int64(1), atom("x")}); err == nil {
		t.Error("an answer without a run is accepted")
	}
}

// TestNote: a note is a part of the instruction that follows, and of no other.
func TestNote(t *testing.T) {
	note := func(text etf.Term) tuple { return tuple{atom("note"), list(nil), list(nil), list{text}} }
	run := tuple{atom("run"), f32out, list{int64(1)}, list{[]byte("k"), atom("nil")}}
	s, ok := DecodeStream(tuple{atom("nxvk"), list{run, note([]byte("a.ex:1")), run, run, note(int64(1)), run, note([]byte("last"))}})
	if !ok {
		t.Fatal("no stream")
	}
	var notes []string
	for _, in := range s.Instrs {
		notes = append(notes, in.Name+" "+in.Note)
	}
	if want := []string{"run ", "run a.ex:1", "run ", "note ", "run "}; !slices.Equal(notes, want) {
		t.Errorf("%q, want %q", notes, want)
	}
	if s.Instrs[3].Err == nil {
		t.Error("a note that is a number is taken")
	}
	long, _ := DecodeStream(tuple{atom("nxvk"), list{note([]byte(strings.Repeat("ä", MaxNote))), run}})
	if text := long.Instrs[0].Note; len(text) > MaxNote || !utf8.ValidString(text) {
		t.Errorf("a note of %d bytes: %q", len(text), text)
	}
}
