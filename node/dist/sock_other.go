//go:build !unix

package dist

import "net"

// rawSocket is for systems whose sockets can be tried without waiting.
type rawSocket struct{}

func newRawSocket(net.Conn) *rawSocket { return nil }

func (s *rawSocket) write([][]byte) int { return 0 }
