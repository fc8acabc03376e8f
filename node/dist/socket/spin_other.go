//go:build !unix

package socket

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"
)

// newSpinReader returns the socket: only on Unix can it be tried without waiting.
func newSpinReader(sock net.Conn, _ syscall.RawConn, _ *atomic.Uint64) io.Reader { return sock }
