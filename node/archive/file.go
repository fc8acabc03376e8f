package archive

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A file has the hash of its name and its data, and then the data. The hash does not match if
// the file is incomplete, renamed or written by another program.
func seal(name string, data []byte) []byte {
	sum := sum(name, data)
	return append(sum[:], data...)
}

// unseal returns the data of a file; nil if the hash does not match.
func unseal(name string, file []byte) []byte {
	if len(file) < sha256.Size {
		return nil
	}
	data := file[sha256.Size:]
	if sum(name, data) != [sha256.Size]byte(file) {
		return nil
	}
	return data
}

func sum(name string, data []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(name))
	h.Write(data)
	return [sha256.Size]byte(h.Sum(nil))
}

// suffix ends the names of entries, and temporary begins the names of files that are being
// written.
const (
	suffix    = ".entry"
	temporary = "temporary-"
)

// enqueue has a write done on another goroutine.
func (a *Archive) enqueue(p write) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = append(a.pending, p)
	if !a.writing {
		a.writing = true
		go a.work()
	}
}

// work does the pending writes.
func (a *Archive) work() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.pending) > 0 {
		list := a.pending
		a.pending = nil
		a.mu.Unlock()
		for _, p := range list {
			a.do(p)
		}
		a.mu.Lock()
	}
	a.writing = false
	a.idle.Broadcast()
}

// do does a write. An entry that cannot be written is forgotten.
func (a *Archive) do(p write) {
	path := filepath.Join(a.dir, p.name)
	if p.file == nil {
		os.Chtimes(path, time.Time{}, time.Now())
		return
	}
	err := a.replace(path, p.file)
	a.mu.Lock()
	if err != nil {
		delete(a.known, p.name)
	} else {
		a.size += int64(len(p.file))
	}
	full := a.size > a.limit
	a.mu.Unlock()
	if full {
		a.trim()
	}
}

// replace writes a file as a whole.
func (a *Archive) replace(path string, data []byte) error {
	f, err := os.CreateTemp(a.dir, temporary)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		os.Remove(f.Name())
		return err
	}
	return nil
}

// trim lists the folder. If it exceeds the limit, trim removes the least recently used entries
// until a quarter of the limit is free. It also removes temporary files older than an hour.
func (a *Archive) trim() error {
	files, err := os.ReadDir(a.dir)
	if err != nil {
		return err
	}
	var entries []fs.FileInfo
	size := int64(0)
	for _, f := range files {
		info, err := f.Info()
		switch {
		case err != nil: // removed by another process
		case strings.HasSuffix(f.Name(), suffix):
			entries, size = append(entries, info), size+info.Size()
		case strings.HasPrefix(f.Name(), temporary) && time.Since(info.ModTime()) > time.Hour:
			os.Remove(filepath.Join(a.dir, f.Name()))
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	gone := 0
	if size > a.limit {
		slices.SortFunc(entries, func(x, y fs.FileInfo) int {
			return cmp.Or(x.ModTime().Compare(y.ModTime()), strings.Compare(x.Name(), y.Name()))
		})
		for ; gone < len(entries) && size > a.limit/4*3; gone++ {
			os.Remove(filepath.Join(a.dir, entries[gone].Name()))
			delete(a.known, entries[gone].Name())
			size -= entries[gone].Size()
		}
	}
	for _, e := range entries[gone:] {
		a.known[e.Name()] = true
	}
	a.size = size
	return nil
}
