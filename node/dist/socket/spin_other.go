//go:build !unix

package socket

import (
	"io"
	"net"
	"syscall"
)

// newSpinReader returns the socket: only on Unix can it be tried without waiting.
func newSpinReader(sock net.Conn, _ syscall.RawConn) io.Reader { return sock }
