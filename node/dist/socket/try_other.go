//go:build !unix

package socket

import "net"

// TryWriter is for systems whose sockets can be tried without waiting.
type TryWriter struct{}

// NewTryWriter returns nil.
func NewTryWriter(net.Conn) *TryWriter { return nil }

// TryWrite writes nothing.
func (w *TryWriter) TryWrite([][]byte) int { return 0 }
