package epmd

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

const (
	// maxClients bounds the connections; each node has one.
	maxClients = 2048
	// requestTime is how long a client may take to ask.
	requestTime = 5 * time.Second
)

// Server is a port mapper. It answers all requests of epmd except DUMP, KILL and STOP,
// with which anybody on the machine could end it. Anybody may ask for a name; only nodes
// of this machine may register, as with epmd.
type Server struct {
	listeners []net.Listener
	port      uint32
	running   sync.WaitGroup

	mu     sync.Mutex
	nodes  map[string]Node
	conns  map[net.Conn]bool
	closed bool
	made   uint32 // last creation
}

// Listen serves at all addresses until Close, or at none where one of them fails. It
// leaves out an address that the first one includes, as 0.0.0.0 includes 127.0.0.1.
func Listen(address string, others ...string) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve epmd: %w", err)
	}
	s := &Server{
		listeners: []net.Listener{l},
		port:      uint32(l.Addr().(*net.TCPAddr).Port),
		nodes:     make(map[string]Node),
		conns:     make(map[net.Conn]bool),
		made:      rand.Uint32(),
	}
	for _, other := range others {
		if includes(address, other) {
			continue
		}
		more, err := net.Listen("tcp", other)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("serve epmd: %w", err)
		}
		s.listeners = append(s.listeners, more)
	}
	for _, l := range s.listeners {
		s.running.Go(func() { s.accept(l) })
	}
	return s, nil
}

// includes reports whether a listener at an address also listens at the other one.
func includes(address, other string) bool {
	host, port, err := net.SplitHostPort(address)
	_, otherPort, err2 := net.SplitHostPort(other)
	ip := net.ParseIP(host)
	return address == other || err == nil && err2 == nil && port == otherPort && (host == "" || ip != nil && ip.IsUnspecified())
}

// Addr is where the server listens, the first of its addresses.
func (s *Server) Addr() net.Addr { return s.listeners[0].Addr() }

// Close ends the server and every connection to it.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	for _, l := range s.listeners {
		l.Close()
	}
	s.running.Wait()
}

func (s *Server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			s.mu.Lock()
			closed := s.closed
			s.mu.Unlock()
			if closed {
				return
			}
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if !s.enter(c) {
			c.Close()
			continue
		}
		s.running.Go(func() {
			defer s.leave(c)
			s.serve(c)
		})
	}
}

func (s *Server) enter(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= maxClients {
		return false
	}
	s.conns[c] = true
	return true
}

func (s *Server) leave(c net.Conn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// serve answers one request. A registration then holds the connection.
func (s *Server) serve(c net.Conn) {
	c.SetDeadline(time.Now().Add(requestTime))
	p, err := readRequest(c)
	if err != nil {
		return
	}
	switch body := p[1:]; p[0] {
	case reqAlive:
		if local(c) {
			s.alive(c, body)
		}
	case reqPort:
		c.Write(s.lookup(string(body)))
	case reqNames:
		c.Write(s.names())
	case reqDump, reqKill, reqStop:
		// Closing without an answer is how epmd itself refuses.
	}
}

// local reports whether the client is on this machine.
func local(c net.Conn) bool {
	here, ok := c.LocalAddr().(*net.TCPAddr)
	there, ok2 := c.RemoteAddr().(*net.TCPAddr)
	return ok && ok2 && (there.IP.IsLoopback() || there.IP.Equal(here.IP))
}

func (s *Server) alive(c net.Conn, body []byte) {
	n, err := parseNode(body)
	if err != nil {
		return
	}
	creation, ok := s.add(n)
	if !ok {
		c.Write([]byte{respAliveX, 1, 0, 0, 0, 99})
		return
	}
	defer s.remove(n.Name)
	if _, err := c.Write(binary.BigEndian.AppendUint32([]byte{respAliveX, 0}, creation)); err != nil {
		return
	}
	c.SetDeadline(time.Time{})
	awaitEnd(c) // the name is free before the connection is closed, see leave
}

func (s *Server) add(n Node) (creation uint32, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.nodes[n.Name]; taken {
		return 0, false
	}
	s.nodes[n.Name] = n
	// Creations below four belong to nodes of the time before 32 bits.
	if s.made++; s.made < 4 {
		s.made = 4
	}
	return s.made, true
}

func (s *Server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, name)
}

func (s *Server) lookup(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.nodes[name]
	if !ok {
		return []byte{respPort, 1}
	}
	return appendNode([]byte{respPort, 0}, n)
}

func (s *Server) names() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := binary.BigEndian.AppendUint32(nil, s.port)
	for _, n := range s.nodes {
		p = fmt.Appendf(p, "name %s at port %d\n", n.Name, n.Port)
	}
	return p
}
