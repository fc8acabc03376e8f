//go:build unix

package dist

import (
	"io"
	"net"
	"syscall"
	"time"
)

// trying reads from a socket, and tries again for a while before it sleeps.
type trying struct {
	raw     syscall.RawConn
	attempt func(fd uintptr) bool

	// Of the read under way, and of the last one.
	into []byte
	n    int
	err  error
	last time.Time
}

func newTrying(_ net.Conn, raw syscall.RawConn) io.Reader {
	r := &trying{raw: raw}
	r.attempt = r.try
	return r
}

// Read is that of io.Reader, for one goroutine.
func (r *trying) Read(p []byte) (int, error) {
	r.into, r.n, r.err = p, 0, nil
	err := r.raw.Read(r.attempt)
	r.into = nil
	r.last = time.Now()
	switch {
	case err != nil: // closed, or too late
		return 0, err
	case r.err != nil:
		return 0, r.err
	case r.n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// try reads what there is; false is that there is nothing and the reader may sleep.
func (r *trying) try(fd uintptr) bool {
	var until time.Time
	for {
		n, err := syscall.Read(int(fd), r.into)
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			r.n, r.err = max(n, 0), err
			return true
		}
		now := time.Now()
		if until.IsZero() {
			if now.Sub(r.last) > dense {
				return false
			}
			until = now.Add(lookFor)
		}
		if now.After(until) {
			return false
		}
	}
}
