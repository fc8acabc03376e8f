package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"nxvk/vulkan/logical"
	"nxvk/vulkan/logical/logicaltest"
)

// openTest returns the compiler of a device, which is closed at the end of the test.
func openTest(t *testing.T, o logical.Options) *Compiler {
	t.Helper()
	c, err := New(logicaltest.Open(t, o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// kernel returns the code of a kernel of the tests of package vulkan.
func kernel(t *testing.T) []uint32 {
	t.Helper()
	bytes := read(t, "../testdata/affine_bind.spv")
	code := make([]uint32, len(bytes)/4)
	for i := range code {
		code[i] = binary.LittleEndian.Uint32(bytes[4*i:])
	}
	return code
}

func compile(t *testing.T, c *Compiler, spec ...uint32) {
	t.Helper()
	if _, err := c.Compile("affine", kernel(t), Layout{Buffers: 2, PushBytes: 12, Spec: spec}); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCacheFile corrupts the file in several ways: the compiler works as without a file, and reports
// the reason.
func TestCacheFile(t *testing.T) {
	dir := t.TempDir()
	c := openTest(t, logical.Options{CacheDir: dir, OnCache: func(err error) { t.Error(err) }})
	compile(t, c)
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	name := c.cacheFile()
	good := read(t, name)
	key := cacheKey(&c.d.Raw)
	if _, err := decodeCache(good, key); err != nil {
		t.Fatalf("the file just written: %v", err)
	}
	openTest(t, logical.Options{CacheDir: dir, OnCache: func(err error) { t.Error(err) }})
	flip := func(at int) []byte {
		f := bytes.Clone(good)
		f[at] ^= 1
		return f
	}
	foreign := sha256.Sum256([]byte("another driver"))
	for _, f := range []struct {
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
		if err := os.WriteFile(name, f.file, 0o644); err != nil {
			t.Fatal(err)
		}
		var said error
		e := openTest(t, logical.Options{CacheDir: dir, OnCache: func(err error) { said = err }})
		if !errors.Is(said, f.want) {
			t.Errorf("%s: got %v, want %v", f.what, said, f.want)
		}
		compile(t, e)
		if err := e.Close(); err != nil {
			t.Errorf("%s: %v", f.what, err)
		}
		if _, err := decodeCache(read(t, name), key); err != nil {
			t.Errorf("%s: not replaced by a good file: %v", f.what, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
}

// TestCacheKeyCoversDriver tells devices apart that share a pipelineCacheUUID.
func TestCacheKeyCoversDriver(t *testing.T) {
	c := openTest(t, logical.Options{})
	a := c.d.Raw
	for what, change := range map[string]func(){
		"driver info":    func() { a.DriverInfo += "x" },
		"driver version": func() { a.DriverVersion++ },
		"name":           func() { a.Name += "x" },
		"uuid":           func() { a.CacheUUID[3]++ },
		"device":         func() { a.Device++ },
	} {
		a = c.d.Raw
		change()
		if cacheKey(&a) == cacheKey(&c.d.Raw) {
			t.Errorf("%s is not in the key", what)
		}
	}
}

// TestCacheStartsOver makes the cache too large: an empty one replaces it while other goroutines
// compile with it, and the saved file stays.
func TestCacheStartsOver(t *testing.T) {
	c := openTest(t, logical.Options{CacheDir: t.TempDir()})
	code := kernel(t)
	compile(t, c)
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	saved := read(t, c.cacheFile())
	first := c.cache
	c.most = 0
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 10 {
				if _, err := c.Compile("p", code, Layout{Buffers: 2, PushBytes: 12, Spec: []uint32{uint32(g*100 + i)}}); err != nil {
					t.Error(err)
				}
				if err := c.Save(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if now := read(t, c.cacheFile()); !bytes.Equal(now, saved) {
		t.Errorf("%d bytes are saved, they were %d", len(now), len(saved))
	}
	if now := c.cache; now == first || !first.over || first.users != 0 || now.users != 0 {
		t.Errorf("the first cache: %+v, the last one: %+v", first, now)
	}
	c.most = maxCache
	if err := c.Save(); err != nil {
		t.Error(err)
	}
}

// TestCacheFileOfDriver changes the version of the driver: the file has the same name.
func TestCacheFileOfDriver(t *testing.T) {
	c := openTest(t, logical.Options{CacheDir: t.TempDir()})
	whole := c.d.Raw
	defer func() { c.d.Raw = whole }()
	name := c.cacheFile()
	c.d.Raw.DriverVersion++
	if c.cacheFile() != name {
		t.Error("another version has a file of its own")
	}
	c.d.Raw.Device++
	if c.cacheFile() == name {
		t.Error("another device has the same file")
	}
}

// saved closes a compiler and returns the data of the file.
func saved(t *testing.T, c *Compiler) []byte {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := decodeCache(read(t, c.cacheFile()), cacheKey(&c.d.Raw))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCacheOfSeveral has two nodes use one file, as those of two scripts do: who saves later keeps what the other one has
// saved.
func TestCacheOfSeveral(t *testing.T) {
	const header = 32 // of the data: VkPipelineCacheHeaderVersionOne
	dir := t.TempDir()
	one, other := openTest(t, logical.Options{CacheDir: dir}), openTest(t, logical.Options{CacheDir: dir})
	compile(t, one)
	compile(t, other, 2, 2, 2)
	first := saved(t, one)
	if len(first) <= header {
		t.Skip("the driver keeps no kernels in a pipeline cache")
	}
	if both := saved(t, other); len(both) <= len(first) {
		t.Errorf("two kernels take %d bytes, one takes %d", len(both), len(first))
	}
}

// TestCacheUnchanged saves a cache when nothing has been compiled: the file is that of before.
func TestCacheUnchanged(t *testing.T) {
	dir := t.TempDir()
	one, other := openTest(t, logical.Options{CacheDir: dir}), openTest(t, logical.Options{CacheDir: dir})
	compile(t, one)
	saved(t, one)
	before, err := os.Stat(one.cacheFile())
	if err != nil {
		t.Fatal(err)
	}
	saved(t, other)
	if now, err := os.Stat(one.cacheFile()); err != nil || !os.SameFile(now, before) {
		t.Errorf("another file has taken its place: %v, %v", now, err)
	}
}
