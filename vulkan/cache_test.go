package vulkan

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestCacheFile corrupts the file in every way: it must be as if absent.
func TestCacheFile(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, Options{CacheDir: dir})
	affine(t, d, true)
	if err := d.SaveCache(); err != nil {
		t.Fatal(err)
	}
	name := d.kernels.cacheFile()
	good := must(os.ReadFile(name))(t)
	key := cacheKey(&d.raw)
	if decodeCache(good, key) == nil {
		t.Fatal("the file just written is rejected")
	}
	flip := func(at int) []byte {
		f := bytes.Clone(good)
		f[at] ^= 1
		return f
	}
	foreign := sha256.Sum256([]byte("another driver"))
	for what, f := range map[string][]byte{
		"empty": {}, "short": good[:20], "truncated": good[:len(good)-1], "longer": append(bytes.Clone(good), 0),
		"magic": flip(0), "key": flip(10), "sum": flip(45), "data": flip(cacheHeader),
		"foreign": encodeCache(good[cacheHeader:], foreign),
	} {
		if decodeCache(f, key) != nil {
			t.Errorf("%s: accepted", what)
		}
		if err := os.WriteFile(name, f, 0o644); err != nil {
			t.Fatal(err)
		}
		e := openTest(t, Options{CacheDir: dir})
		affine(t, e, true)
		if err := e.Close(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if data := must(os.ReadFile(name))(t); decodeCache(data, key) == nil {
			t.Errorf("%s: not replaced by a good file", what)
		}
	}
	if left := must(filepath.Glob(filepath.Join(dir, "*")))(t); len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
}

// TestCacheKeyCoversDriver tells devices apart that share a pipelineCacheUUID.
func TestCacheKeyCoversDriver(t *testing.T) {
	d := openTest(t, Options{})
	a := d.raw
	for what, change := range map[string]func(){
		"driver info":    func() { a.DriverInfo += "x" },
		"driver version": func() { a.DriverVersion++ },
		"name":           func() { a.Name += "x" },
		"uuid":           func() { a.CacheUUID[3]++ },
		"device":         func() { a.Device++ },
	} {
		a = d.raw
		change()
		if cacheKey(&a) == cacheKey(&d.raw) {
			t.Errorf("%s is not in the key", what)
		}
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
