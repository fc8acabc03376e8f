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

// A file is the hash of its name and its data, and then the data: what has been
// torn, renamed or written by somebody else does not fit its hash.
func seal(name string, data []byte) []byte {
	sum := sum(name, data)
	return append(sum[:], data...)
}

// unseal gives the data of a file, or nil.
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

// suffix is how the names of entries end, and aside begins those of files that
// are being written.
const (
	suffix = ".entry"
	aside  = "aside-"
)

// enqueue has a piece written apart from the caller.
func (a *Archive) enqueue(p piece) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = append(a.pending, p)
	if !a.writing {
		a.writing = true
		go a.work()
	}
}

// work writes what is pending, until nothing is.
func (a *Archive) work() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.pending) > 0 {
		list := a.pending
		a.pending = nil
		a.mu.Unlock()
		for _, p := range list {
			a.write(p)
		}
		a.mu.Lock()
	}
	a.writing = false
	a.idle.Broadcast()
}

// write carries out a piece. What fails is forgotten: it is a cache.
func (a *Archive) write(p piece) {
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

// replace gives a file its contents as a whole.
func (a *Archive) replace(path string, data []byte) error {
	f, err := os.CreateTemp(a.dir, aside)
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

// trim looks at what is in the folder. Where that is more than the limit, the
// entries that have not been wanted for longest go, until there is room for a
// quarter of it; so does what others have not finished in an hour.
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
		case err != nil: // gone meanwhile
		case strings.HasSuffix(f.Name(), suffix):
			entries, size = append(entries, info), size+info.Size()
		case strings.HasPrefix(f.Name(), aside) && time.Since(info.ModTime()) > time.Hour:
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
