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

// Limit is the default limit of a folder, in bytes.
const Limit = 64 << 20

// Archive is an open folder. All goroutines may use it.
type Archive struct {
	dir   string
	build []byte
	limit int64

	mu      sync.Mutex
	idle    sync.Cond
	size    int64
	known   map[string]bool // names of the files that exist or will be written
	pending []write
	writing bool
}

// write is a pending write of an entry; without data, a pending update of its time.
type write struct {
	name string
	file []byte
}

// Open opens a folder for the running executable. It creates the folder if it does not exist.
func Open(dir string, limit int64) (*Archive, error) {
	build, err := hashExecutable()
	if err != nil {
		return nil, fmt.Errorf("open the archive %s: %w", dir, err)
	}
	return openFor(dir, limit, build)
}

func openFor(dir string, limit int64, build []byte) (*Archive, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder of the archive %s: %w", dir, err)
	}
	a := &Archive{dir: dir, build: build, limit: limit, known: make(map[string]bool)}
	a.idle.L = &a.mu
	if err := a.trim(); err != nil {
		return nil, fmt.Errorf("open the archive %s: %w", dir, err)
	}
	return a, nil
}

// hashExecutable returns the hash of the running program: another build may compile differently.
func hashExecutable() ([]byte, error) {
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

// fileName returns the name of the file of a key.
func (a *Archive) fileName(key string) string {
	h := sha256.New()
	h.Write(a.build)
	io.WriteString(h, key)
	return hex.EncodeToString(h.Sum(nil)) + suffix
}

// Get returns the data of a key; nil if there is none.
func (a *Archive) Get(key string) []byte {
	name := a.fileName(key)
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
		a.enqueue(write{name: name})
	}
	return data
}

// fresh is the precision of the time at which an entry was last used.
const fresh = 24 * time.Hour

// Put stores data under a key, on another goroutine. An existing entry stays.
func (a *Archive) Put(key string, data []byte) {
	name := a.fileName(key)
	a.mu.Lock()
	known := a.known[name]
	a.known[name] = true
	a.mu.Unlock()
	if !known {
		a.enqueue(write{name, seal(name, data)})
	}
}

// Flush waits until all entries are in the folder.
func (a *Archive) Flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.writing {
		a.idle.Wait()
	}
}
