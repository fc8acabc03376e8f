package archive

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, dir string, limit int64, build string) *Archive {
	t.Helper()
	a, err := openFor(dir, limit, []byte(build))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Flush)
	return a
}

// contents of an entry follow from its key, so that any reader can tell.
func contents(key string) []byte { return bytes.Repeat([]byte(key+"/"), 200) }

// entries lists the files of a folder that are entries.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), suffix) {
			names = append(names, filepath.Join(dir, f.Name()))
		}
	}
	return names
}

// An entry is there after a restart; another build does not find it.
func TestKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	a := open(t, dir, Limit, "one")
	if a.Get("x") != nil {
		t.Error("an empty archive has x")
	}
	a.Put("x", contents("x"))
	a.Put("empty", nil)
	a.Flush()
	for build, want := range map[string]bool{"one": true, "two": false} {
		b := open(t, dir, Limit, build)
		if got := bytes.Equal(b.Get("x"), contents("x")); got != want {
			t.Errorf("build %s has x: %v, want %v", build, got, want)
		}
		if got := b.Get("empty") != nil; got != want {
			t.Errorf("build %s has the empty entry: %v, want %v", build, got, want)
		}
	}
}

// The hash of an executable is there and stays the same.
func TestExecutable(t *testing.T) {
	one, err := hashExecutable()
	two, err2 := hashExecutable()
	if err != nil || err2 != nil || len(one) == 0 || !bytes.Equal(one, two) {
		t.Errorf("%x, %v and %x, %v", one, err, two, err2)
	}
}

// Files that are torn, changed, foreign or somebody else's are not believed, and
// are written again.
func TestDistrusts(t *testing.T) {
	for name, spoil := range map[string]func(file []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"head":    func(f []byte) []byte { return f[:10] },
		"torn":    func(f []byte) []byte { return f[:len(f)-1] },
		"longer":  func(f []byte) []byte { return append(f, 0) },
		"flipped": func(f []byte) []byte { f[len(f)/2] ^= 1; return f },
		"foreign": func([]byte) []byte { return bytes.Repeat([]byte("foreign "), 100) },
		"renamed": func([]byte) []byte { return seal("another"+suffix, contents("x")) },
	} {
		dir := t.TempDir()
		a := open(t, dir, Limit, "one")
		a.Put("x", contents("x"))
		a.Flush()
		path := entries(t, dir)[0]
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, spoil(file), 0o644); err != nil {
			t.Fatal(err)
		}
		b := open(t, dir, Limit, "one")
		if got := b.Get("x"); got != nil {
			t.Errorf("%s: %d bytes are believed", name, len(got))
		}
		b.Put("x", contents("x"))
		b.Flush()
		if !bytes.Equal(open(t, dir, Limit, "one").Get("x"), contents("x")) {
			t.Errorf("%s: not written again", name)
		}
	}
}

// A folder stays under its limit and keeps the entries that were used recently.
func TestLimit(t *testing.T) {
	dir := t.TempDir()
	const size, limit = 3200, 40 * 3200
	key := func(i int) string { return fmt.Sprintf("entry number %04d", i) }
	a := open(t, dir, limit, "one")
	for i := range 10 {
		a.Put(key(i), contents(key(i)))
	}
	a.Flush()
	old := time.Now().Add(-100 * time.Hour)
	for _, path := range entries(t, dir) {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if a.Get(key(3)) == nil {
		t.Fatal("entry 3 is gone")
	}
	for i := 10; i < 99; i++ {
		a.Put(key(i), contents(key(i)))
	}
	a.Flush()
	a.Put(key(99), contents(key(99)))
	a.Flush()
	soon := time.Now().Add(time.Second) // clocks of file systems may stand still meanwhile
	if err := os.Chtimes(filepath.Join(dir, a.fileName(key(99))), soon, soon); err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, path := range entries(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > limit || total < limit/2 {
		t.Errorf("%d bytes of at most %d", total, limit)
	}
	small := open(t, dir, 12*size, "one")
	if n := len(entries(t, dir)); n > 12 || n == 0 {
		t.Errorf("%d entries where 12 fit", n)
	}
	if small.Get(key(99)) == nil {
		t.Error("the latest entry is gone")
	}
	if small.Get(key(4)) != nil {
		t.Error("an entry that nobody has wanted for days is there")
	}
}

// Several archives write and trim one folder at a time; each gets what fits its
// key or nothing.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			a, err := openFor(dir, 30*3300, []byte("one"))
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 200 {
				key := fmt.Sprintf("entry number %04d", (i*7+w)%60)
				if got := a.Get(key); got != nil && !bytes.Equal(got, contents(key)) {
					t.Errorf("%s has other contents", key)
				}
				a.Put(key, contents(key))
			}
			a.Flush()
		})
	}
	group.Wait()
	if len(entries(t, dir)) == 0 {
		t.Error("nothing was kept")
	}
}

// A folder that cannot be made is an error; one that vanishes is a miss.
func TestNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, Limit); err == nil {
		t.Error("a file serves as a folder")
	}
	dir := t.TempDir()
	a := open(t, dir, Limit, "one")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	a.Put("x", contents("x"))
	a.Flush()
	if a.Get("x") != nil {
		t.Error("x is there, in no folder")
	}
}
