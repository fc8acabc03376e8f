package wire

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"nxvk/gen/etf"
	"nxvk/ops"
)

type (
	atom  = etf.Atom
	tuple = etf.Tuple
	list  = etf.List
)

// stream decodes a stream of one instruction.
func stream(t *testing.T, instr etf.Term) *Instr {
	t.Helper()
	s, ok := DecodeStream(tuple{atom("nxvk"), list{instr}})
	if !ok || len(s.Instrs) != 1 {
		t.Fatalf("not a stream of one: %v", instr)
	}
	return &s.Instrs[0]
}

var f32out = list{tuple{int64(7), atom("f32"), tuple{int64(2), int64(3)}}}

// Every form of instruction, operand and attribute.
func TestInstr(t *testing.T) {
	id := func(n ops.ID) ops.Operand { return ops.Operand{ID: n} }
	pid := etf.Pid{Node: "a@b", ID: 3, Serial: 1, Creation: 9}
	four := []byte{1, 2, 3, 4}
	for _, x := range []struct {
		name  string
		instr tuple
		ins   []ops.Operand
		attrs [][]int
	}{
		{"ids", tuple{atom("add"), f32out, list{int64(1), int64(1 << 60)}, list(nil)}, []ops.Operand{id(1), id(1 << 60)}, nil},
		{"scalar", tuple{atom("exp"), f32out, list{tuple{atom("f32"), four}}, list(nil)},
			[]ops.Operand{{Lit: &ops.Literal{Type: ops.Type{DType: ops.F32, Shape: ops.Shape{}}, Data: four}}}, nil},
		{"tensor", tuple{atom("tensor"), f32out, list{tuple{atom("s8"), tuple{int64(2), int64(2)}, four}}, list(nil)},
			[]ops.Operand{{Lit: &ops.Literal{Type: ops.Type{DType: ops.S8, Shape: ops.Shape{2, 2}}, Data: four}}}, nil},
		{"no operands", tuple{atom("iota"), f32out, list(nil), list{int64(-1)}}, nil, [][]int{{-1}}},
		{"lists and booleans", tuple{atom("sum"), f32out, list{int64(1)}, list{list{int64(0), int64(2)}, atom("true")}},
			[]ops.Operand{id(1)}, [][]int{{0, 2}, {1}}},
		{"empty list", tuple{atom("sum"), f32out, list{int64(1)}, list{list(nil), atom("false")}},
			[]ops.Operand{id(1)}, [][]int{{}, {0}}},
		{"a name", tuple{atom("argmax"), f32out, list{int64(1)}, list{int64(0), atom("false"), atom("high")}},
			[]ops.Operand{id(1)}, [][]int{{0}, {0}, {1}}},
		{"triples", tuple{atom("pad"), f32out, list{int64(1), int64(2)}, list{list{tuple{int64(1), int64(-2), int64(3)}, tuple{int64(4), int64(5), int64(6)}}}},
			[]ops.Operand{id(1), id(2)}, [][]int{{1, -2, 3, 4, 5, 6}}},
		{"pairs", tuple{atom("window_sum"), f32out, list{int64(1)}, list{list{int64(2)}, list{tuple{int64(0), int64(1)}}, list{int64(1)}, list{int64(1)}}},
			[]ops.Operand{id(1)}, [][]int{{2}, {0, 1}, {1}, {1}}},
		{"a float", tuple{atom("fft"), f32out, list{int64(1)}, list{int64(8), int64(0), 1.0}},
			[]ops.Operand{id(1)}, [][]int{{8}, {0}, {0x3ff0 << 48}}},
		{"several results", tuple{atom("top_k"), list{f32out[0], tuple{int64(8), atom("s32"), tuple{}}}, list{int64(1)}, list{int64(2)}},
			[]ops.Operand{id(1)}, [][]int{{2}}},
		{"free", tuple{atom("free"), list(nil), list(nil), list{list{int64(4), int64(5)}}}, nil, [][]int{{4, 5}}},
		{"import", tuple{atom("import"), f32out, list{tuple{atom("shared"), pid, int64(99), int64(4)}}, list(nil)}, nil, nil},
		{"import from a device", tuple{atom("import"), f32out, list{tuple{atom("shared"), atom("nxvk_1"), int64(12), pid, int64(99), int64(4)}}, list(nil)}, nil, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			in := stream(t, x.instr)
			if in.Err != nil {
				t.Fatal(in.Err)
			}
			if in.Name != string(x.instr[0].(etf.Atom)) || in.Op.String() != in.Name {
				t.Errorf("operation %q (%v)", in.Name, in.Op)
			}
			if len(in.Outs) != len(x.instr[1].(etf.List)) {
				t.Errorf("results %v", in.Outs)
			}
			if len(in.Outs) > 0 && (in.Outs[0].ID != 7 || in.Outs[0].Type.String() != "f32{2, 3}") {
				t.Errorf("result %v", in.Outs[0])
			}
			if len(in.Ins)+len(x.ins) > 0 && !reflect.DeepEqual(in.Ins, x.ins) {
				t.Errorf("operands %v, want %v", in.Ins, x.ins)
			}
			if len(in.Attrs)+len(x.attrs) > 0 && !reflect.DeepEqual(in.Attrs, x.attrs) {
				t.Errorf("attributes %v, want %v", in.Attrs, x.attrs)
			}
			want := Shared{Owner: pid, Key: 99, ID: 4}
			if x.name == "import from a device" {
				want.Server, want.Incarnation = "nxvk_1", 12
			}
			if in.Op == ops.Import && (in.Shared == nil || *in.Shared != want) {
				t.Errorf("import of %v, want %v", in.Shared, want)
			}
		})
	}
}

// A large binary is read where it lies and kept alive by the literal.
func TestLargeLiteral(t *testing.T) {
	block, err := etf.NewPool(0).Alloc(etf.LargeBinary)
	if err != nil {
		t.Fatal(err)
	}
	b := etf.NewBinary(block, etf.LargeBinary)
	defer b.Release()
	in := stream(t, tuple{atom("tensor"), f32out, list{tuple{atom("u8"), tuple{int64(etf.LargeBinary)}, b}}, list(nil)})
	if in.Err != nil {
		t.Fatal(in.Err)
	}
	if lit := in.Ins[0].Lit; lit.Hold != b || &lit.Data[0] != &block.Bytes()[0] {
		t.Error("the literal is a copy")
	}
}

// Whatever is wrong with an instruction is its error, in words that name what
// is expected; the results that can be read are kept for it.
func TestMalformedInstr(t *testing.T) {
	one, scalar := list{int64(1)}, []byte{0, 0, 0, 0}
	none := list(nil)
	shared := func(t ...etf.Term) list { return list{tuple(append([]etf.Term{atom("shared")}, t...))} }
	pid := etf.Pid{Node: "a@b"}
	for _, x := range []struct {
		name  string
		instr etf.Term
		kind  Kind
		text  string
		kept  int // results
	}{
		{"not a tuple", atom("add"), BadRequest, "{Op, Results, Operands, Attributes}", 0},
		{"too short", tuple{atom("add"), f32out, one}, BadRequest, "{Op, Results, Operands, Attributes}", 0},
		{"operation", tuple{"add", f32out, one, none}, BadRequest, "not an atom", 1},
		{"unknown operation", tuple{atom("addd"), f32out, one, none}, UnknownOp, `"addd" is not in the table`, 1},
		{"results", tuple{atom("exp"), atom("x"), one, none}, BadRequest, "results are a list", 0},
		{"a result", tuple{atom("exp"), list{int64(3)}, one, none}, BadRequest, "{Id, Type, Shape}", 0},
		{"result after a bad one", tuple{atom("exp"), list{int64(3), f32out[0]}, one, none}, BadRequest, "{Id, Type, Shape}", 1},
		{"result id 0", tuple{atom("exp"), list{tuple{int64(0), atom("f32"), tuple{}}}, one, none}, BadRequest, "1 to 2^60", 0},
		{"result id large", tuple{atom("exp"), list{tuple{int64(1<<60 + 1), atom("f32"), tuple{}}}, one, none}, BadRequest, "1 to 2^60", 0},
		{"result type", tuple{atom("exp"), list{tuple{int64(3), atom("f31"), tuple{}}}, one, none}, BadArgument, `unknown type "f31"`, 1},
		{"result type form", tuple{atom("exp"), list{tuple{int64(3), "f32", tuple{}}}, one, none}, BadRequest, "a type is an atom", 1},
		{"result shape form", tuple{atom("exp"), list{tuple{int64(3), atom("f32"), list{int64(1)}}}, one, none}, BadRequest, "a shape is a tuple", 1},
		{"result shape element", tuple{atom("exp"), list{tuple{int64(3), atom("f32"), tuple{1.0}}}, one, none}, BadRequest, "a shape is a tuple", 1},
		{"empty dimension", tuple{atom("exp"), list{tuple{int64(3), atom("f32"), tuple{int64(0)}}}, one, none}, BadArgument, "at least 1", 1},
		{"many elements", tuple{atom("exp"), list{tuple{int64(3), atom("f32"), tuple{int64(1 << 40), int64(1 << 40)}}}, one, none}, BadArgument, "2^48", 1},
		{"operands", tuple{atom("exp"), f32out, int64(1), none}, BadRequest, "operands are a list", 1},
		{"operand", tuple{atom("exp"), f32out, list{atom("x")}, none}, BadRequest, "operand 0: an id is an integer", 1},
		{"operand id", tuple{atom("exp"), f32out, list{int64(-1)}, none}, BadRequest, "1 to 2^60", 1},
		{"operand tuple", tuple{atom("add"), f32out, list{int64(1), tuple{atom("f32")}}, none}, BadRequest, "operand 1: must be an id, {Type, Data}", 1},
		{"literal type", tuple{atom("exp"), f32out, list{tuple{atom("float"), scalar}}, none}, BadArgument, `unknown type "float"`, 1},
		{"literal data", tuple{atom("exp"), f32out, list{tuple{atom("f32"), 1.0}}, none}, BadRequest, "data is a binary", 1},
		{"literal size", tuple{atom("exp"), f32out, list{tuple{atom("f64"), scalar}}, none}, BadArgument, "f64 takes 8 bytes of data, got 4", 1},
		{"tensor size", tuple{atom("exp"), f32out, list{tuple{atom("f32"), tuple{int64(2)}, scalar}}, none}, BadArgument, "f32{2} takes 8 bytes of data, got 4", 1},
		{"lost data", tuple{atom("exp"), f32out, list{tuple{atom("f32"), etf.Lost{Size: 4, Err: errors.New("no room")}}}, none}, OutOfMemory, "receive 4 bytes: no room", 1},
		{"attributes", tuple{atom("sum"), f32out, one, atom("x")}, BadRequest, "attributes are a list", 1},
		{"attributes missing", tuple{atom("sum"), f32out, one, none}, BadArgument, "takes 2 attributes, has 0", 1},
		{"attribute of none", tuple{atom("exp"), f32out, one, list{int64(1)}}, BadArgument, "takes 0 attributes, has 1", 1},
		{"integer", tuple{atom("iota"), f32out, none, list{1.0}}, BadArgument, `"axis" must be an integer`, 1},
		{"list", tuple{atom("sum"), f32out, one, list{int64(1), atom("true")}}, BadArgument, `"axes" must be a list of integers`, 1},
		{"list element", tuple{atom("sum"), f32out, one, list{list{atom("x")}, atom("true")}}, BadArgument, `"axes" must be a list of integers`, 1},
		{"boolean", tuple{atom("sum"), f32out, one, list{none, int64(1)}}, BadArgument, `"keep_axes" must be a boolean`, 1},
		{"name", tuple{atom("argmax"), f32out, one, list{int64(0), atom("true"), atom("first")}}, BadArgument, `"tie_break" must be one of [low high]`, 1},
		{"triple", tuple{atom("pad"), f32out, list{int64(1), int64(2)}, list{list{tuple{int64(1), int64(2)}}}}, BadArgument, "{low, high, interior}", 1},
		{"float", tuple{atom("fft"), f32out, one, list{int64(8), int64(0), int64(1)}}, BadArgument, `"eps" must be a float`, 1},
		{"import of an id", tuple{atom("import"), f32out, one, none}, BadRequest, "{shared, Pid, Key, Id}", 1},
		{"import of two", tuple{atom("import"), f32out, list{int64(1), int64(2)}, none}, BadRequest, "{shared, Pid, Key, Id}", 1},
		{"import of no pid", tuple{atom("import"), f32out, shared(int64(1), int64(1), int64(1)), none}, BadRequest, "{shared, Pid, Key, Id}", 1},
		{"import by a bad key", tuple{atom("import"), f32out, shared(pid, int64(-1), int64(1)), none}, BadRequest, "{shared, Pid, Key, Id}", 1},
		{"import from no server", tuple{atom("import"), f32out, shared(atom(""), int64(0), pid, int64(1), int64(1)), none}, BadRequest, "{shared, Server, Incarnation, Pid, Key, Id}", 1},
		{"import from a number", tuple{atom("import"), f32out, shared(int64(1), int64(0), pid, int64(1), int64(1)), none}, BadRequest, "{shared, Server", 1},
		{"import from a run before", tuple{atom("import"), f32out, shared(atom("nxvk_1"), int64(-1), pid, int64(1), int64(1)), none}, BadRequest, "{shared, Server", 1},
		{"import from a device by id 0", tuple{atom("import"), f32out, shared(atom("nxvk_1"), int64(0), pid, int64(1), int64(0)), none}, BadRequest, "{shared, Server", 1},
		{"import of id 0", tuple{atom("import"), f32out, shared(pid, int64(1), int64(0)), none}, BadRequest, "{shared, Pid, Key, Id}", 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			in := stream(t, x.instr)
			if in.Err == nil {
				t.Fatal("no error")
			}
			if kind := KindOf(in.Err); kind != x.kind || !strings.Contains(in.Err.Error(), x.text) {
				t.Errorf("%s: %q, want %s: …%s…", kind, in.Err, x.kind, x.text)
			}
			if len(in.Outs) != x.kept {
				t.Errorf("results %v are kept, want %d", in.Outs, x.kept)
			}
		})
	}
}

// Messages that are no stream, and streams with and without an incarnation.
func TestStream(t *testing.T) {
	for _, x := range []struct {
		term        etf.Term
		ok          bool
		incarnation uint64
	}{
		{tuple{atom("nxvk"), list(nil)}, true, 0},
		{tuple{atom("nxvk"), int64(5), list(nil)}, true, 5},
		{tuple{atom("nxvk"), atom("x"), list(nil)}, false, 0},
		{tuple{atom("nxvk"), int64(5), atom("x")}, false, 0},
		{tuple{atom("nxvk"), tuple{}}, false, 0},
		{tuple{atom("nxvk")}, false, 0},
		{tuple{atom("nxvkk"), list(nil)}, false, 0},
		{tuple{list(nil), list(nil)}, false, 0},
		{tuple{}, false, 0},
		{list(nil), false, 0},
		{etf.Map{}, false, 0},
		{nil, false, 0},
	} {
		s, ok := DecodeStream(x.term)
		if ok != x.ok || ok && s.Incarnation != x.incarnation {
			t.Errorf("%v: %v %v, want %v %v", x.term, s, ok, x.incarnation, x.ok)
		}
	}
}

// A free or a forget that names many values becomes several, which together name the same ones in
// order; what comes before and behind stays in its place.
func TestManyNamed(t *testing.T) {
	for _, n := range []int{0, 1, MaxNamed, MaxNamed + 1, 3*MaxNamed + 5} {
		ids, keys, wantKeys := list{}, list{}, []string{}
		for i := range n {
			ids = append(ids, int64(1+i))
			keys = append(keys, []byte{byte(i), byte(i >> 8)})
			wantKeys = append(wantKeys, string([]byte{byte(i), byte(i >> 8)}))
		}
		negate := tuple{atom("negate"), f32out, list{int64(1)}, list(nil)}
		s, ok := DecodeStream(tuple{atom("nxvk"), list{negate, tuple{atom("free"), list(nil), list(nil), list{ids}},
			tuple{atom("forget"), list(nil), list(nil), list{keys}}, negate}})
		pieces := max(1, (n+MaxNamed-1)/MaxNamed)
		if !ok || len(s.Instrs) != 2+2*pieces {
			t.Fatalf("%d names: %d instructions", n, len(s.Instrs))
		}
		freed, forgotten := []int{}, []string{}
		for i, in := range s.Instrs {
			switch {
			case in.Err != nil:
				t.Fatal(in.Err)
			case i == 0 || i == len(s.Instrs)-1:
				if in.Op != ops.Negate {
					t.Errorf("%d names: instruction %d is %v", n, i, in.Op)
				}
			case in.Op == ops.Free && len(forgotten) == 0 && len(in.Attrs[0]) <= MaxNamed:
				freed = append(freed, in.Attrs[0]...)
			case in.Op == ops.Forget && len(in.Keys) <= MaxNamed:
				forgotten = append(forgotten, in.Keys...)
			default:
				t.Errorf("%d names: instruction %d is a %v of %d", n, i, in.Op, len(in.Attrs))
			}
		}
		for i := range freed {
			if freed[i] != 1+i {
				t.Fatalf("%d names: the %dth is %d", n, i, freed[i])
			}
		}
		if len(freed) != n || !reflect.DeepEqual(forgotten, wantKeys) {
			t.Errorf("%d names: %d are freed, %d forgotten", n, len(freed), len(forgotten))
		}
	}
}
