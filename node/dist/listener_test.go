package dist

import (
	"net"
	"testing"
	"time"
)

// TestIdleSockets opens many sockets that never say a word. The oldest give way,
// and a peer that comes after them is served at once.
func TestIdleSockets(t *testing.T) {
	c := newCluster(t, "/", Options{})
	var idle []net.Conn
	for range 3 * maxPending {
		s, err := net.Dial("tcp", c.node.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		idle = append(idle, s)
	}
	began := time.Now()
	defer dialRaw(t, c, "late@127.0.0.1").Close()
	if took := time.Since(began); took >= handshakeTime {
		t.Errorf("the handshake took %v, as long as those that stall", took)
	}
	idle[0].SetReadDeadline(time.Now().Add(handshakeTime / 2))
	if n, err := idle[0].Read(make([]byte, 1)); n > 0 || isTimeout(err) {
		t.Errorf("the oldest socket is still open: %d bytes, %v", n, err)
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}
