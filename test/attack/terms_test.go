package attack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"regexp"
	"testing"
)

// Terms of the client: a string is an atom, a []byte a binary, raw is encoded already.
type (
	raw  []byte
	list []any
	tup  []any
	dict map[string]any
)

// encode is the external format of a term, without its version.
func encode(t any) []byte {
	switch t := t.(type) {
	case raw:
		return t
	case string:
		return atom(t)
	case bool:
		return atom(fmt.Sprint(t))
	case int:
		return encode(big.NewInt(int64(t)))
	case *big.Int:
		return encodeInteger(t)
	case float64:
		return binary.BigEndian.AppendUint64([]byte{70}, math.Float64bits(t))
	case []byte:
		return append(binary.BigEndian.AppendUint32([]byte{109}, uint32(len(t))), t...)
	case list:
		if len(t) == 0 {
			return []byte{106}
		}
		return append(append(binary.BigEndian.AppendUint32([]byte{108}, uint32(len(t))), encodeAll(t)...), 106)
	case tup:
		if len(t) > 255 {
			return append(binary.BigEndian.AppendUint32([]byte{105}, uint32(len(t))), encodeAll(t)...)
		}
		return append([]byte{104, byte(len(t))}, encodeAll(t)...)
	case dict:
		b := binary.BigEndian.AppendUint32([]byte{116}, uint32(len(t)))
		for key, value := range t {
			b = append(append(b, atom(key)...), encode(value)...)
		}
		return b
	}
	panic(fmt.Sprintf("no term: %T", t))
}

func encodeAll(all []any) []byte {
	var b []byte
	for _, t := range all {
		b = append(b, encode(t)...)
	}
	return b
}

func encodeInteger(n *big.Int) []byte {
	if n.IsInt64() && n.Int64() == int64(int32(n.Int64())) {
		return integer(uint32(n.Int64()))
	}
	digits := n.Bytes()
	for i, j := 0, len(digits)-1; i < j; i, j = i+1, j-1 {
		digits[i], digits[j] = digits[j], digits[i]
	}
	sign := byte(0)
	if n.Sign() < 0 {
		sign = 1
	}
	if len(digits) > 255 {
		return append(append(binary.BigEndian.AppendUint32([]byte{111}, uint32(len(digits))), sign), digits...)
	}
	return append([]byte{110, byte(len(digits)), sign}, digits...)
}

// speaker draws messages to a device server: each has the form of one that a client sends,
// with terms in it that no client sends.
type speaker struct {
	*peer
	device string
	r      *rand.Rand
	ops    [][]byte // rows of the table of operations
	last   int      // the last id that may be a value
	keys   [][]byte
}

var types = []string{"u2", "u8", "s4", "s32", "s64", "f8", "bf16", "f16", "f32", "f64", "c64", "c128"}

var opRow = regexp.MustCompile(`(?m)^\{op, '?(\w+)'?, \[\{kind, (\w+)\}, \{arity, (-?\d+)\}, \{attrs, \[(.*?)\]\}, \{results`)

var attrRow = regexp.MustCompile(`\{\w+, (\w+), \[([^\]]*)\]\}`)

// table are the operations, of the file from which the Elixir package has them.
func table(t *testing.T) [][]byte {
	t.Helper()
	b, err := os.ReadFile("../../elixir/nx_vulkan_go/priv/ops.eterm")
	if err != nil {
		t.Fatal(err)
	}
	rows := bytes.Split(b, []byte("\n"))
	var all [][]byte
	for _, row := range rows {
		if opRow.Match(row) {
			all = append(all, row)
		}
	}
	if len(all) < 100 {
		t.Fatalf("%d operations", len(all))
	}
	return all
}

// odd is a term that does not belong where it stands.
func (s *speaker) odd() any {
	n := func(exp uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), exp) }
	switch s.r.IntN(20) {
	case 0:
		return 0
	case 1:
		return -1
	case 2:
		return n(uint(31 + s.r.IntN(3)))
	case 3:
		return n(60)
	case 4:
		return new(big.Int).Sub(n(63), big.NewInt(int64(s.r.IntN(2))))
	case 5:
		return new(big.Int).Neg(n(uint(62 + s.r.IntN(3))))
	case 6:
		return n(uint(64 + s.r.IntN(3000)))
	case 7:
		return -math.MaxFloat64
	case 8:
		return 5e-324
	case 9:
		return 1e308
	case 10:
		return list{}
	case 11:
		return tup{}
	case 12:
		return []byte{}
	case 13:
		return bytes.Repeat([]byte{byte(s.r.Uint32())}, s.r.IntN(300))
	case 14:
		return raw(s.pid(uint32(s.r.IntN(3))))
	case 15:
		return raw(s.ref(uint32(s.r.IntN(3))))
	case 16:
		return []any{"true", "false", "nil", "infinity", "", "\u2028", "free"}[s.r.IntN(7)]
	case 17:
		return raw(append(bytes.Repeat([]byte{104, 1}, 2000), 106)) // tuples in tuples
	case 18:
		return raw(append([]byte{108, 0, 0, 0, 1, 97, 1, 97}, 2)) // an improper list
	default:
		return raw(emptyLists(1 + s.r.IntN(1000)))
	}
}

// mutate replaces some of the parts of a term.
func (s *speaker) mutate(t any, rate int) any {
	if s.r.IntN(rate) == 0 {
		return s.odd()
	}
	switch t := t.(type) {
	case list:
		return list(s.mutateAll(t, rate))
	case tup:
		return tup(s.mutateAll(t, rate))
	case dict:
		d := dict{}
		for key, value := range t {
			d[key] = s.mutate(value, rate)
		}
		return d
	}
	return t
}

func (s *speaker) mutateAll(all []any, rate int) []any {
	var mutated []any
	for _, t := range all {
		mutated = append(mutated, s.mutate(t, rate))
		if s.r.IntN(8*rate) == 0 {
			mutated = append(mutated, s.odd())
		}
	}
	if len(mutated) > 0 && s.r.IntN(8*rate) == 0 {
		mutated = mutated[1:]
	}
	return mutated
}

// shape is mostly small; some shapes have more elements than an integer of 64 bits counts,
// others very many axes or none of an extent.
func (s *speaker) shape() tup {
	shape := tup{}
	switch s.r.IntN(24) {
	case 0:
		for range 1 + s.r.IntN(4) {
			shape = append(shape, new(big.Int).Lsh(big.NewInt(1), uint(s.r.IntN(66))))
		}
	case 1:
		for range 1 + s.r.IntN(3000) {
			shape = append(shape, 1+s.r.IntN(1+s.r.IntN(2)))
		}
	case 2:
		shape = append(shape, 0, 1<<20)
	default:
		for range s.r.IntN(4) {
			shape = append(shape, 1+s.r.IntN(6))
		}
	}
	return shape
}

func (s *speaker) typ() string { return types[s.r.IntN(len(types))] }

func (s *speaker) result() any {
	s.last++
	return tup{s.last, s.typ(), s.shape()}
}

func (s *speaker) operand() any {
	switch s.r.IntN(6) {
	case 0:
		return tup{s.typ(), bytes.Repeat([]byte{byte(s.r.Uint32())}, 1<<s.r.IntN(5))}
	case 1:
		return tup{s.typ(), s.shape(), bytes.Repeat([]byte{byte(s.r.Uint32())}, s.r.IntN(64))}
	}
	return 1 + s.r.IntN(s.last+1)
}

func (s *speaker) operands(n int) list {
	all := list{}
	for range n {
		all = append(all, s.operand())
	}
	return all
}

// key is that of a program, mostly of one that there is.
func (s *speaker) key() any {
	if len(s.keys) == 0 || s.r.IntN(6) == 0 {
		s.keys = append(s.keys, fmt.Appendf(nil, "key%d", len(s.keys)))
	}
	return s.keys[s.r.IntN(len(s.keys))]
}

// instruction is one of the table, with attributes of their forms.
func (s *speaker) instruction(depth int) any {
	switch s.r.IntN(10) {
	case 0:
		return tup{"program", list{}, list{}, list{s.key(), s.region(depth)}}
	case 1:
		return tup{"run", list{s.result()}, s.operands(s.r.IntN(3)), list{s.key(), "nil"}}
	}
	m := opRow.FindSubmatch(s.ops[s.r.IntN(len(s.ops))])
	arity, results := int(m[3][0]-'0'), list{}
	if m[3][0] == '-' {
		arity = s.r.IntN(4)
	}
	for range 1 + s.r.IntN(8)/7 {
		results = append(results, s.result())
	}
	attrs := list{}
	for _, a := range attrRow.FindAllSubmatch(m[4], -1) {
		attrs = append(attrs, s.attr(string(a[1]), string(a[2]), depth))
	}
	return tup{string(m[1]), results, s.operands(arity), attrs}
}

func (s *speaker) attr(kind, choices string, depth int) any {
	small := func() any { return s.r.IntN(8) - 2 }
	several := func(f func() any) list {
		all := list{}
		for range s.r.IntN(4) {
			all = append(all, f())
		}
		return all
	}
	switch kind {
	case "int":
		return small()
	case "ints":
		return several(small)
	case "bool":
		return s.r.IntN(2) == 0
	case "float":
		return s.r.NormFloat64()
	case "type":
		return s.typ()
	case "region":
		return s.region(depth)
	case "pads", "pairs":
		return several(func() any {
			p := tup{small(), small()}
			if kind == "pads" {
				p = append(p, small())
			}
			return p
		})
	}
	if names := regexp.MustCompile(`\w+`).FindAllString(choices, -1); len(names) > 0 {
		return names[s.r.IntN(len(names))]
	}
	return s.odd()
}

// region is a program of few instructions, and of regions in them.
func (s *speaker) region(depth int) any {
	kept := s.last
	defer func() { s.last = kept }()
	params, code := list{}, list{}
	for range s.r.IntN(3) {
		params = append(params, s.result())
	}
	for range s.r.IntN(4) {
		if depth < 3 {
			code = append(code, s.instruction(depth+1))
		}
	}
	return tup{params, code, s.operands(1 + s.r.IntN(2))}
}
