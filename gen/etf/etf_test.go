package etf

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	pid := Pid{Node: "a@b", ID: 1, Serial: 1 << 31, Creation: 0xffffffff}
	tests := []struct {
		name string
		term Term
	}{
		{"zero", int64(0)},
		{"byte", int64(255)},
		{"int32", int64(-1 << 31)},
		{"int64", int64(-1 << 63)},
		{"bignum", new(big.Int).Lsh(big.NewInt(-3), 3000)},
		{"float", 1e-300},
		{"atom", Atom("ok")},
		{"long atom", Atom(strings.Repeat("ø", 255))},
		{"pid", pid},
		{"ref", Ref{Node: "a@b", Creation: 7, Len: 5, Words: [5]uint32{1, 2, 3, 4, 5}}},
		{"port", Port{Node: "a@b", ID: 1 << 60, Creation: 1}},
		{"empty containers", Tuple{Tuple{}, List(nil), Map{}, []byte{}}},
		{"nested", List{Tuple{Atom("a"), Map{{Key: List{int64(1)}, Value: pid}}}, List{List(nil)}}},
		{"improper", ImproperList{Items: []Term{Atom("alias")}, Tail: int64(1)}},
		{"bitstring", Bitstring{Bytes: []byte{0xa0}, Bits: 3}},
		{"export", Export{Module: "lists", Function: "map", Arity: 2}},
		{"large binary", bytes.Repeat([]byte{7}, 100_000)},
		{"two large binaries", List{bytes.Repeat([]byte{1}, 20_000), Atom("x"), bytes.Repeat([]byte{2}, 20_000), Atom("y")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Append([]byte{9}, tt.term)
			if err != nil {
				t.Fatal(err)
			}
			got, rest, err := Decode(p[1:])
			if err != nil || len(rest) != 0 {
				t.Fatalf("decode: %v, %d bytes left", err, len(rest))
			}
			if !reflect.DeepEqual(got, tt.term) {
				t.Fatalf("got %#v, want %#v", got, tt.term)
			}
			for n := range min(len(p)-1, 4000) {
				if _, _, err := Decode(p[1 : 1+n]); err == nil {
					t.Fatalf("prefix of %d bytes decodes", n)
				}
			}
		})
	}
}

func TestRecorded(t *testing.T) {
	for _, tt := range recorded {
		p, err := hex.DecodeString(tt.hex)
		if err != nil {
			t.Fatal(err)
		}
		term, rest, err := Decode(p[1:])
		if err != nil || len(rest) != 0 {
			t.Errorf("%s: %v, %d bytes left", tt.name, err, len(rest))
			continue
		}
		back, err := Append([]byte{Version}, term)
		if err != nil {
			t.Errorf("%s: encode %v: %v", tt.name, term, err)
			continue
		}
		again, _, err := Decode(back[1:])
		if err != nil || !reflect.DeepEqual(again, term) {
			t.Errorf("%s: got %v after a round trip, want %v (%v)", tt.name, again, term, err)
		}
	}
}

func TestDeepTerm(t *testing.T) {
	const depth = 1_000_000
	p := append(bytes.Repeat([]byte{tagList, 0, 0, 0, 1}, depth), tagNil)
	p = append(p, bytes.Repeat([]byte{tagNil}, depth)...)
	term, rest, err := Decode(p)
	if err != nil || len(rest) != 0 {
		t.Fatalf("decode: %v, %d bytes left", err, len(rest))
	}
	back, err := Append(nil, term)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back, p) {
		t.Fatal("a deep list differs after a round trip")
	}
}

// TestHostileCounts gives counts that the rest of the input cannot hold, also
// nested, where each alone could be believed.
func TestHostileCounts(t *testing.T) {
	for _, head := range [][]byte{
		{tagList, 0x7f, 0xff, 0xff, 0xff},
		{tagLargeTuple, 0, 0x0f, 0, 0},
		{tagSmallTuple, 255},
		{tagMap, 0, 7, 0, 0},
	} {
		p := bytes.Repeat(head, 1<<20/len(head))
		allocated := testing.AllocsPerRun(1, func() {
			if _, _, err := Decode(p); err == nil {
				t.Errorf("%v repeated decodes", head)
			}
		})
		if allocated > 100_000 {
			t.Errorf("%v repeated: %v allocations", head, allocated)
		}
	}
	for _, p := range [][]byte{
		{tagBinary, 0xff, 0xff, 0xff, 0xff}, {tagLargeBig, 0xff, 0xff, 0xff, 0xff, 0},
		{tagNewFloat, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0}, {tagNewFun, 0, 0, 0, 0}, {tagAtomCacheRef, 0}, {1},
	} {
		if _, _, err := Decode(p); err == nil {
			t.Errorf("%v decodes", p)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, term := range []Term{
		struct{}{}, Atom(strings.Repeat("x", 256)), Atom("\xff"), Ref{}, Bitstring{}, Lost{Size: 1}, List{Tuple{make(chan int)}},
	} {
		if _, err := Append(nil, term); err == nil {
			t.Errorf("%T encodes", term)
		}
	}
	if _, err := Append(nil, struct{}{}); !errors.Is(err, ErrType) {
		t.Errorf("got %v, want %v", err, ErrType)
	}
}

// TestScanner feeds a term byte by byte and takes the large binaries out.
func TestScanner(t *testing.T) {
	big1, big2 := bytes.Repeat([]byte{1}, LargeBinary), bytes.Repeat([]byte{tagBinary}, LargeBinary+3)
	small := bytes.Repeat([]byte{tagBinary}, 1000)
	term := Tuple{Atom("a"), big1, List{small, int64(1) << 40, big2, 1.5}, Map{{Key: Pid{Node: "n@h"}, Value: Ref{Node: "n@h", Len: 3}}}}
	p, err := Append(nil, term)
	if err != nil {
		t.Fatal(err)
	}
	var s Scanner
	var skeleton []byte
	d := Decoder{Streamed: true}
	for len(p) > 0 {
		skeleton, p = append(skeleton, p[0]), p[1:]
		size, at, found, err := s.Next(skeleton)
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			continue
		}
		if at != len(skeleton) {
			t.Fatalf("found at %d of %d", at, len(skeleton))
		}
		d.Large, p = append(d.Large, p[:size]), p[size:]
	}
	got, rest, err := d.Decode(skeleton)
	if err != nil || len(rest) != 0 {
		t.Fatalf("decode: %v, %d bytes left", err, len(rest))
	}
	if !reflect.DeepEqual(got, term) {
		t.Fatal("the term differs")
	}
}

func TestEncoderCuts(t *testing.T) {
	released := 0
	out := Outside{Bytes: make([]byte, SegmentSize), Release: func() { released++ }}
	var e Encoder
	if err := e.Encode(Tuple{Atom("x"), out, out}); err != nil {
		t.Fatal(err)
	}
	if len(e.Cuts()) != 2 || e.Len() < 2*SegmentSize || len(e.Buffer()) > 100 {
		t.Fatalf("got %d cuts, %d of %d bytes in the buffer", len(e.Cuts()), len(e.Buffer()), e.Len())
	}
	e.Drop()
	if released != 2 {
		t.Fatalf("released %d times, want 2", released)
	}
	if err := e.Encode(Outside{Bytes: []byte{1}, Release: func() { released++ }}); err != nil || released != 3 {
		t.Fatalf("released %d times, want 3 (%v)", released, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, tt := range recorded {
		p, _ := hex.DecodeString(tt.hex)
		f.Add(p[1:])
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		var s Scanner
		s.Next(p)
		first, _, err := Decode(p)
		if err != nil {
			return
		}
		back, err := Append(nil, first)
		if err != nil {
			t.Fatalf("encode %#v: %v", first, err)
		}
		second, rest, err := Decode(back)
		if err != nil || len(rest) != 0 {
			t.Fatalf("decode again: %v, %d bytes left", err, len(rest))
		}
		again, err := Append(nil, second)
		if err != nil || !bytes.Equal(again, back) {
			t.Fatalf("not stable: % x, then % x (%v)", back, again, err)
		}
	})
}

func BenchmarkDecodeCall(b *testing.B) {
	p, _ := Append(nil, Tuple{Atom("run"), List{Tuple{Atom("add"), List{int64(1), int64(2)}, int64(3)}}})
	var d Decoder
	b.ReportAllocs()
	for b.Loop() {
		d.Decode(p)
	}
}

// TestFunAtoms gives a fun whose atoms are references to a cache, within
// another fun, and wants the encoding that needs no cache.
func TestFunAtoms(t *testing.T) {
	fun := func(atom []byte, free ...byte) []byte {
		p := append([]byte{tagNewFun, 0, 0, 0, 0, 1}, make([]byte, 16)...)
		p = append(p, 0, 0, 0, 1, 0, 0, 0, 1)
		p = append(append(p, atom...), tagSmallInteger, 1, tagSmallInteger, 2, tagNewPid)
		p = append(append(p, atom...), make([]byte, 12)...)
		p = append(p, free...)
		binary.BigEndian.PutUint32(p[1:], uint32(len(p)-1))
		return p
	}
	cached, plain := []byte{tagAtomCacheRef, 0}, []byte{tagSmallAtomUTF8, 3, 'a', '@', 'b'}
	d := Decoder{Cache: []Term{Atom("a@b")}}
	term, rest, err := d.Decode(fun(cached, fun(cached, cached...)...))
	if err != nil || len(rest) > 0 {
		t.Fatalf("decode: %v, %d bytes left", err, len(rest))
	}
	got, err := Append(nil, term)
	if want := fun(plain, fun(plain, plain...)...); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got % x, want % x (%v)", got, want, err)
	}
	if _, _, err := Decode(fun(cached)); err == nil {
		t.Error("a reference without a cache decodes")
	}
}
