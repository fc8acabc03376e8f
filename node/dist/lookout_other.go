//go:build !unix

package dist

import (
	"io"
	"net"
	"syscall"
)

// newTrying returns the socket: only on Unix can it be tried without waiting.
func newTrying(sock net.Conn, _ syscall.RawConn) io.Reader { return sock }
