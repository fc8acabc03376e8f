package etf

import (
	"errors"
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
