package epmd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"unicode/utf8"
)

// Requests and responses, by their first byte.
const (
	reqNames   = 'n'
	reqDump    = 'd'
	reqKill    = 'k'
	reqStop    = 's'
	reqAlive   = 'x'
	reqPort    = 'z'
	respPort   = 'w'
	respAlive  = 'y'
	respAliveX = 'v' // with a creation of 32 bits
)

// maxRequest is above the longest request with the longest name and extra.
const maxRequest = 2048

// typeHidden is the node type of nodes that nodes/0 does not show.
const typeHidden = 72

// version is the highest and, for us, the lowest distribution version.
const version = 6

var (
	// ErrUnknown says that no node of that name is registered.
	ErrUnknown = errors.New("node is not registered")
	// ErrTaken says that a node of that name is registered already.
	ErrTaken = errors.New("node name is taken")
	// ErrProtocol says that the other side does not speak epmd.
	ErrProtocol = errors.New("malformed epmd packet")
)

// Node is a registration.
type Node struct {
	Name     string // without the host
	Port     uint16
	Type     byte   // hidden where zero
	Protocol byte   // 0 for TCP over IPv4
	Highest  uint16 // distribution versions; 6 where zero
	Lowest   uint16
	Extra    []byte
}

// DefaultAddress is where the port mapper of this machine listens, with the
// port and, where it names one address, the address that Erlang's environment
// variables say.
func DefaultAddress() string {
	host, port := "127.0.0.1", "4369"
	if a := os.Getenv("ERL_EPMD_ADDRESS"); a != "" {
		host, _, _ = strings.Cut(a, ",")
	}
	if p := os.Getenv("ERL_EPMD_PORT"); p != "" {
		port = p
	}
	return net.JoinHostPort(host, port)
}

// appendNode appends what ALIVE2 requests and PORT2 responses share.
func appendNode(p []byte, n Node) []byte {
	if n.Type == 0 {
		n.Type = typeHidden
	}
	if n.Highest == 0 {
		n.Highest, n.Lowest = version, version
	}
	p = binary.BigEndian.AppendUint16(p, n.Port)
	p = append(p, n.Type, n.Protocol)
	p = binary.BigEndian.AppendUint16(p, n.Highest)
	p = binary.BigEndian.AppendUint16(p, n.Lowest)
	p = binary.BigEndian.AppendUint16(p, uint16(len(n.Name)))
	p = append(p, n.Name...)
	p = binary.BigEndian.AppendUint16(p, uint16(len(n.Extra)))
	return append(p, n.Extra...)
}

func parseNode(p []byte) (Node, error) {
	if len(p) < 12 {
		return Node{}, fmt.Errorf("%w: node of %d bytes", ErrProtocol, len(p))
	}
	n := Node{
		Port:     binary.BigEndian.Uint16(p),
		Type:     p[2],
		Protocol: p[3],
		Highest:  binary.BigEndian.Uint16(p[4:]),
		Lowest:   binary.BigEndian.Uint16(p[6:]),
	}
	name, rest, ok := cutSized(p[8:])
	extra, rest, ok2 := cutSized(rest)
	if !ok || !ok2 || len(rest) > 0 || !validName(string(name)) {
		return Node{}, fmt.Errorf("%w: node", ErrProtocol)
	}
	n.Name, n.Extra = string(name), append([]byte(nil), extra...)
	return n, nil
}

// cutSized splits p after a field that has its size in two bytes before it.
func cutSized(p []byte) (field, rest []byte, ok bool) {
	if len(p) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(p))
	if n > len(p)-2 {
		return nil, nil, false
	}
	return p[2 : 2+n], p[2+n:], true
}

func validName(name string) bool {
	return name != "" && len(name) <= 255*utf8.UTFMax && utf8.ValidString(name) &&
		utf8.RuneCountInString(name) <= 255 && !strings.ContainsAny(name, "@\n\x00")
}

// readRequest reads a request; responses have no such length.
func readRequest(r io.Reader) ([]byte, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(head[:]))
	if n == 0 || n > maxRequest {
		return nil, fmt.Errorf("%w: request of %d bytes", ErrProtocol, n)
	}
	p := make([]byte, n)
	_, err := io.ReadFull(r, p)
	return p, err
}

func appendRequest(kind byte, body []byte) []byte {
	p := binary.BigEndian.AppendUint16(nil, uint16(1+len(body)))
	return append(append(p, kind), body...)
}
