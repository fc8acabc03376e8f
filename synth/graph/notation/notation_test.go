package notation

import (
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/ops/example"
)

// Every operation of the table reads as it prints.
func TestPrintParse(t *testing.T) {
	seen := 0
	for op := range ops.Count {
		in, types, ok := example.Of(op, ops.F32)
		if !ok {
			continue
		}
		if in.Check(types) != nil {
			if in, types, _ = example.Of(op, ops.S32); in.Check(types) != nil {
				continue
			}
		}
		r := standing(in, types)
		text := Print(r)
		back, err := Parse(text)
		if err != nil {
			t.Errorf("%v: %v of\n%s", op, err, text)
			continue
		}
		if got := Print(back); got != text {
			t.Errorf("%v: got\n%s\nwant\n%s", op, got, text)
		}
		seen++
	}
	if seen < 80 {
		t.Errorf("%d operations have been printed", seen)
	}
}

// standing is a region of one instruction with operands as parameters.
func standing(in *ops.Instr, types []ops.Type) *ops.Region {
	r := &ops.Region{}
	c := *in
	c.Ins, c.Outs = nil, nil
	for i, o := range in.Ins {
		if o.Lit == nil {
			o.ID = ops.ID(i + 1)
			r.Params = append(r.Params, ops.Result{ID: o.ID, Type: types[i]})
		}
		c.Ins = append(c.Ins, o)
	}
	for i, o := range in.Outs {
		o.ID = ops.ID(100 + i)
		c.Outs = append(c.Outs, o)
		r.Values = append(r.Values, ops.Operand{ID: o.ID})
	}
	r.Body = []ops.Instr{c}
	return r
}

const looping = `(%1:f32[2,3], %2:s32) {
  %3:f32[2,3], %4:s32 = while %1, s32(0) condition(%5:f32[2,3], %6:s32) {
    %7:u8 = less %6, %2
    give %7
  } body(%8:f32[2,3], %9:s32) {
    %10:s32 = add %9, s32(1)
    %11:f32[2,3] = branch %10 then() {
      hook %8 index=3
      give %8
    } otherwise() {
      %12:f32[2,3] = multiply %8, f32[3](0.5 -Inf 0x7fc00001)
      give %12
    }
    give %11, %10
  }
  %13:f32[2] = reduce %3, f32(-0) axes=[1] keep_axes=false function(%14:f32, %15:f32) {
    %16:f32 = max %14, %15
    give %16
  }
  %17:c64 = constant c64(1.5 -2)
  %18:s64[2,1] = argsort %20 axis=0
  give %13, %4, bf16(1.5), u64(18446744073709551615)
}
`

// Regions of regions, literals of all kinds.
func TestRegions(t *testing.T) {
	text := strings.Replace(looping, "  %18:s64[2,1] = argsort %20 axis=0\n", "", 1)
	r, err := Parse(text + "# nothing\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := Print(r); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	again, err := Parse(Print(r))
	if err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("another region the second time: %v", err)
	}
	bits := r.Body[0].Regions[1].Body[1].Regions[1].Body[0].Ins[1].Lit.Data
	if x := math.Float32frombits(uint32(bitsAt(bits[8:], 4))); x == x || bitsAt(bits[8:], 4) != 0x7fc00001 {
		t.Errorf("a NaN has become %x", bits)
	}
}

// A literal without elements prints all the same.
func TestOpenLiteral(t *testing.T) {
	in := ops.Instr{Op: ops.Exp, Outs: []ops.Result{{ID: 1, Type: ops.Type{DType: ops.F32}}},
		Ins: []ops.Operand{{Lit: &ops.Literal{Type: ops.Type{DType: ops.F32}}}}}
	if got := Line(&in); got != "%1:f32 = exp f32(?)" {
		t.Errorf("got %q", got)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       `"" where "("`,
		"() {\n give %1\n}":                      "not defined",
		"(%1:f32) {\n give %1\n} x":              "text after",
		"(%1:f32[0]) {\n give %1\n}":             "must be at least 1",
		"() {\n %1:f32 = foo\n give\n}":          "unknown operation",
		"() {\n %1:f32 = iota\n give\n}":         `"axis"`,
		"() {\n %1:f32 = iota axis=x\n give\n}":  "no integer",
		"() {\n give f32[2](1)\n}":               "4 bytes",
		"() {\n give u8(256)\n}":                 "no u8",
		"() {\n give bf16(1.0000001)\n}":         "no bf16",
		"() {\n give f32(0x100000000)\n}":        "not the bits",
		"() {\n":                                 `unknown operation ""`,
		"(%1:f32) {\n %1:f32 = exp %1\n give\n}": "defined twice",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := Parse(strings.Repeat("() {\n%1:f32 = branch u8(1) then", 2000)); err == nil || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("regions without an end: %v", err)
	}
}

// What can be read reads as it prints.
func FuzzParse(f *testing.F) {
	f.Add(looping)
	f.Add("(%1:f32[2,3]) {\n  %2:f32[3,2] = transpose %1 axes=[1,0]\n  give %2\n}\n")
	for op := range ops.Count {
		if in, types, ok := example.Of(op, ops.F32); ok {
			f.Add(Print(standing(in, types)))
		}
	}
	if b, err := os.ReadFile("testdata/passes.txt"); err == nil {
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		printed := Print(r)
		back, err := Parse(printed)
		if err != nil {
			t.Fatalf("%v of\n%s", err, printed)
		}
		if again := Print(back); again != printed {
			t.Fatalf("got\n%s\nwant\n%s", again, printed)
		}
	})
}
