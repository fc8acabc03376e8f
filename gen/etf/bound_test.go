package etf

import (
	"errors"
	"reflect"
	"testing"
)

var errFull = errors.New("full")

// bound decodes p with room for so many bytes.
func bound(p []byte, room int) (size int, err error) {
	d := Decoder{More: func(n int) error {
		if room -= n; room < 0 {
			return errFull
		}
		return nil
	}}
	d.Begin(0)
	_, _, err = d.Decode(p)
	return d.Size(), err
}

// TestDecodeFront cuts a tagged tuple at each byte. Whole elements are decoded, and
// the size is the size of the whole tuple.
func TestDecodeFront(t *testing.T) {
	from := Tuple{Pid{Node: "a@b", ID: 1}, Ref{Node: "a@b", Len: 1}}
	elements := []Term{Atom("$gen_call"), from, []byte("request")}
	var ends []int
	p := []byte{tagSmallTuple, 3}
	for _, e := range elements {
		p, _ = Append(p, e)
		ends = append(ends, len(p))
	}
	for n := 3; n <= len(p); n++ {
		var d Decoder
		front, size := d.DecodeFront(p[:n], make([]Term, 2))
		want := 0
		for want < 2 && ends[want] <= n {
			want++
		}
		if size != 3 || len(front) != want || want == 2 && !reflect.DeepEqual(front[1], Term(from)) {
			t.Errorf("%d bytes: %v of %d, want %d", n, front, size, want)
		}
	}
	for _, p := range [][]byte{nil, {tagNil}, {tagSmallTuple}, {tagSmallTuple, 2, tagNil}, {tagLargeTuple, 0, 0, 0, 1, tagNil}} {
		var d Decoder
		if front, size := d.DecodeFront(p, make([]Term, 2)); size != 0 || len(front) > 0 {
			t.Errorf("% x: %v of %d", p, front, size)
		}
	}
}

// TestBoundedDecoding decodes what takes far more room than its encoding.
func TestBoundedDecoding(t *testing.T) {
	const n = 1 << 20
	count := []byte{n >> 24, n >> 16 & 255, n >> 8 & 255, n & 255}
	nils := append([]byte{tagList}, count...)
	for range n + 1 {
		nils = append(nils, tagNil)
	}
	var nested, strings []byte
	for range n {
		nested = append(nested, tagSmallTuple, 1)
	}
	nested = append(nested, tagNil)
	strings = append(strings, tagSmallTuple, 100)
	for range 100 {
		strings = append(strings, tagString, 255, 255)
		strings = append(strings, make([]byte, 65535)...)
	}
	for name, p := range map[string][]byte{"empty lists": nils, "nested tuples": nested, "strings": strings} {
		size, err := bound(p, 1<<40)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if size < 10*len(p) {
			t.Errorf("%s: %d bytes count as %d", name, len(p), size)
		}
		if size, err = bound(p, 4<<20); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
		if size > 32<<20 {
			t.Errorf("%s: %d bytes taken of 4 MiB", name, size)
		}
	}
}
