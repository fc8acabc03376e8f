// Package archive keeps small pieces of data by key in a folder, from one life of
// the process to the next: compiled kernels, and which programs have been worth
// compiling. It is a cache. It forgets what has not been wanted for longest when
// the folder grows over its limit, and whatever it cannot read, write or trust is
// as good as absent. A key belongs to one build: the hash of the executable is a
// part of every one.
//
// An entry is a file, named by its key and written aside before it gets its name,
// so that several nodes can use one folder, and a node that is killed leaves
// nothing that another would believe. The package refuses to know what the data
// means. Start reading at Archive.Get and Archive.Put.
package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Limit is how many bytes a folder may have, unless its owner says otherwise.
const Limit = 64 << 20

// Archive is an open folder. Its methods may be called from any goroutine.
type Archive struct {
	dir   string
	build []byte
	limit int64

	mu      sync.Mutex
	idle    sync.Cond
	size    int64
	known   map[string]bool // the files that are there or will be
	pending []piece
	writing bool
}

// piece is what waits to be written; without data, an entry that has been wanted.
type piece struct {
	name string
	file []byte
}

// Open opens a folder, which is made where there is none, for the running
// executable.
func Open(dir string, limit int64) (*Archive, error) {
	build, err := executable()
	if err != nil {
		return nil, fmt.Errorf("open the archive %s: %w", dir, err)
	}
	return openFor(dir, limit, build)
}

func openFor(dir string, limit int64, build []byte) (*Archive, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open an archive: %w", err)
	}
	a := &Archive{dir: dir, build: build, limit: limit, known: make(map[string]bool)}
	a.idle.L = &a.mu
	if err := a.trim(); err != nil {
		return nil, fmt.Errorf("open the archive %s: %w", dir, err)
	}
	return a, nil
}

// executable is the hash of the program that runs: another compiler in it would
// compile otherwise.
func executable() ([]byte, error) {
	name, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// name is that of the file of a key.
func (a *Archive) name(key string) string {
	h := sha256.New()
	h.Write(a.build)
	io.WriteString(h, key)
	return hex.EncodeToString(h.Sum(nil)) + suffix
}

// Get gives what was put under a key, or nil.
func (a *Archive) Get(key string) []byte {
	name := a.name(key)
	a.mu.Lock()
	known := a.known[name]
	a.mu.Unlock()
	if !known {
		return nil
	}
	path := filepath.Join(a.dir, name)
	file, err := os.ReadFile(path)
	data := unseal(name, file)
	if err != nil || data == nil {
		a.mu.Lock()
		delete(a.known, name)
		a.mu.Unlock()
		return nil
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > fresh {
		a.enqueue(piece{name: name})
	}
	return data
}

// fresh is how exactly it is noted when an entry was last wanted.
const fresh = 24 * time.Hour

// Put keeps data under a key, soon. What is there under it stays.
func (a *Archive) Put(key string, data []byte) {
	name := a.name(key)
	a.mu.Lock()
	known := a.known[name]
	a.known[name] = true
	a.mu.Unlock()
	if !known {
		a.enqueue(piece{name, seal(name, data)})
	}
}

// Flush returns when everything that was put is in the folder.
func (a *Archive) Flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.writing {
		a.idle.Wait()
	}
}
