package vulkan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
)

// openTest opens the best device with validation, unless NXVK_VALIDATION is 0. Any message of the validation layer fails
// the test. Without a device the test is skipped.
func openTest(t testing.TB, o Options) *Device {
	t.Helper()
	o.Validation = os.Getenv("NXVK_VALIDATION") != "0"
	o.Watchdog = cmp.Or(o.Watchdog, -1) // a busy machine is no lost device
	o.OnMessage = func(severity, text string) { t.Errorf("%s: %s", severity, text) }
	d, err := Open(os.Getenv("NXVK_DEVICE"), o)
	if errors.Is(err, ErrNoVulkan) || errors.Is(err, ErrNoDevice) {
		t.Skipf("no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

func readWords(t testing.TB, name string) []uint32 {
	t.Helper()
	code, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return words(code)
}

// affine returns the test kernel, with addresses or with bindings.
func affine(t testing.TB, d *Device, addresses bool) *Pipeline {
	t.Helper()
	name := "affine_bind.spv"
	if addresses {
		name = "affine_addr.spv"
	}
	p, err := d.Pipeline(name, readWords(t, name), Layout{Buffers: 2, PushBytes: 12, Addresses: addresses})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func affinePush(n, mul, add uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, n)
	b = binary.LittleEndian.AppendUint32(b, mul)
	return binary.LittleEndian.AppendUint32(b, add)
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wait(t testing.TB, d *Device, ticket Ticket) {
	t.Helper()
	if err := d.Wait(context.Background(), ticket); err != nil {
		t.Fatal(err)
	}
}

// read downloads a buffer through a stream that may have work recorded.
func read(t testing.TB, d *Device, s *Stream, b *Buffer) []byte {
	t.Helper()
	r := must(s.Download(b, 0, b.Len()))(t)
	defer r.Release()
	wait(t, d, must(s.Submit())(t))
	return bytes.Clone(r.Bytes())
}

func randomBytes(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(rand.Uint32())
	}
	return out
}

func modes(t *testing.T, f func(t *testing.T, addresses bool)) {
	t.Run("addresses", func(t *testing.T) { f(t, true) })
	t.Run("bindings", func(t *testing.T) { f(t, false) })
}

func TestDispatch(t *testing.T) {
	modes(t, func(t *testing.T, addresses bool) {
		d := openTest(t, Options{})
		p := affine(t, d, addresses)
		const n = 1000
		in := make([]byte, 4*n)
		for i := range n {
			binary.LittleEndian.PutUint32(in[4*i:], uint32(i))
		}
		src, dst := must(d.Alloc(4*n))(t), must(d.Alloc(4*n))(t)
		s := d.Stream()
		if err := s.Upload(src, 0, in); err != nil {
			t.Fatal(err)
		}
		if err := s.Dispatch(p, []Arg{WriteOnly(dst), ReadOnly(src)}, affinePush(n, 3, 7), (n+63)/64, 1, 1); err != nil {
			t.Fatal(err)
		}
		out := read(t, d, s, dst)
		for i := range n {
			if got, want := binary.LittleEndian.Uint32(out[4*i:]), uint32(3*i+7); got != want {
				t.Fatalf("element %d: got %d, want %d", i, got, want)
			}
		}
	})
}

func TestOpenNamesWhatThereIs(t *testing.T) {
	d := openTest(t, Options{})
	_, err := Open("no such device", Options{})
	if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), d.Info().Name) {
		t.Errorf("got %v, want ErrNoDevice and the name %q", err, d.Info().Name)
	}
	for _, sel := range []string{"0", d.Info().UUID, strings.ToUpper(d.Info().Name[:4])} {
		e, err := Open(sel, Options{})
		if err != nil {
			t.Errorf("open %q: %v", sel, err)
			continue
		}
		e.Close()
	}
}

func TestPipelinesInParallel(t *testing.T) {
	d := openTest(t, Options{})
	code := readWords(t, "affine_bind.spv")
	defer collect()()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				p, err := d.Pipeline("p", code, Layout{Buffers: 2, PushBytes: 12, Spec: []uint32{uint32(g*100 + i)}})
				if err != nil {
					t.Error(err)
					return
				}
				if i%2 == 0 {
					p.Free()
				}
			}
		})
	}
	wg.Wait()
	if n := d.Stats().Pipelines; n != 160 {
		t.Errorf("%d pipelines, want 160", n)
	}
}
