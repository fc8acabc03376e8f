package vulkan

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestCacheFile corrupts the file in every way: it must be as if absent, but for a word
// about it.
func TestCacheFile(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, Options{CacheDir: dir, OnCache: func(err error) { t.Error(err) }})
	affine(t, d, true)
	if err := d.SaveCache(); err != nil {
		t.Fatal(err)
	}
	name := d.kernels.cacheFile()
	good := must(os.ReadFile(name))(t)
	key := cacheKey(&d.raw)
	if _, err := decodeCache(good, key); err != nil {
		t.Fatalf("the file just written: %v", err)
	}
	openTest(t, Options{CacheDir: dir, OnCache: func(err error) { t.Error(err) }})
	flip := func(at int) []byte {
		f := bytes.Clone(good)
		f[at] ^= 1
		return f
	}
	foreign := sha256.Sum256([]byte("another driver"))
	for _, c := range []struct {
		what string
		file []byte
		want error
	}{
		{"empty", nil, errCacheFormat}, {"short", good[:20], errCacheFormat}, {"magic", flip(0), errCacheFormat},
		{"key", flip(10), errCacheDriver}, {"foreign", encodeCache(good[cacheHeader:], foreign), errCacheDriver},
		{"truncated", good[:len(good)-1], errCacheData}, {"longer", append(bytes.Clone(good), 0), errCacheData},
		{"sum", flip(45), errCacheData}, {"data", flip(cacheHeader), errCacheData},
		{"large", encodeCache(make([]byte, maxCache), key), errCacheSize},
	} {
		if err := os.WriteFile(name, c.file, 0o644); err != nil {
			t.Fatal(err)
		}
		var said error
		e := openTest(t, Options{CacheDir: dir, OnCache: func(err error) { said = err }})
		if !errors.Is(said, c.want) {
			t.Errorf("%s: got %v, want %v", c.what, said, c.want)
		}
		affine(t, e, true)
		if err := e.Close(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if _, err := decodeCache(must(os.ReadFile(name))(t), key); err != nil {
			t.Errorf("%s: not replaced by a good file: %v", c.what, err)
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

// A cache that has become too large starts over while others compile with it, and
// what was saved before stays.
func TestCacheStartsOver(t *testing.T) {
	d := openTest(t, Options{CacheDir: t.TempDir()})
	code := readWords(t, "affine_bind.spv")
	if err := d.SaveCache(); err != nil {
		t.Fatal(err)
	}
	saved := must(os.ReadFile(d.kernels.cacheFile()))(t)
	first := d.kernels.cache
	d.kernels.most = 0
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 10 {
				if _, err := d.Pipeline("p", code, Layout{Buffers: 2, PushBytes: 12, Spec: []uint32{uint32(g*100 + i)}}); err != nil {
					t.Error(err)
				}
				if err := d.SaveCache(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if now := must(os.ReadFile(d.kernels.cacheFile()))(t); !bytes.Equal(now, saved) {
		t.Errorf("%d bytes are saved, they were %d", len(now), len(saved))
	}
	if c := d.kernels.cache; c == first || !first.over || first.users != 0 || c.users != 0 {
		t.Errorf("the first cache: %+v, the last one: %+v", first, c)
	}
	d.kernels.most = maxCache
	if err := d.SaveCache(); err != nil {
		t.Error(err)
	}
}

// A driver of another version takes the place of the one before, in one file.
func TestCacheFileOfDriver(t *testing.T) {
	d := openTest(t, Options{CacheDir: t.TempDir()})
	whole := d.raw
	defer func() { d.raw = whole }()
	name := d.kernels.cacheFile()
	d.raw.DriverVersion++
	if d.kernels.cacheFile() != name {
		t.Error("another version has a file of its own")
	}
	d.raw.Device++
	if d.kernels.cacheFile() == name {
		t.Error("another device has the same file")
	}
}
