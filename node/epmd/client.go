package epmd

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// askTime bounds a question to a port mapper.
const askTime = 5 * time.Second

func dial(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: askTime}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(askTime))
	return c, nil
}

// Lookup asks the port mapper at address for a node.
func Lookup(ctx context.Context, address, name string) (Node, error) {
	c, err := dial(ctx, address)
	if err != nil {
		return Node{}, err
	}
	defer c.Close()
	if _, err := c.Write(appendRequest(reqPort, []byte(name))); err != nil {
		return Node{}, err
	}
	p, err := io.ReadAll(io.LimitReader(c, maxRequest))
	if err != nil {
		return Node{}, err
	}
	if len(p) < 2 || p[0] != respPort {
		return Node{}, fmt.Errorf("%w: answer to a look-up", ErrProtocol)
	}
	if p[1] != 0 {
		return Node{}, fmt.Errorf("%s: %w", name, ErrUnknown)
	}
	return parseNode(p[2:])
}

// Names asks the port mapper at address for all its nodes. Only their names
// and ports are set.
func Names(ctx context.Context, address string) ([]Node, error) {
	c, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.Write(appendRequest(reqNames, nil)); err != nil {
		return nil, err
	}
	p, err := io.ReadAll(io.LimitReader(c, 1<<20))
	if err != nil {
		return nil, err
	}
	if len(p) < 4 {
		return nil, fmt.Errorf("%w: answer to names", ErrProtocol)
	}
	var nodes []Node
	for line := range strings.Lines(string(p[4:])) {
		words := strings.Fields(line)
		if len(words) != 5 || words[0] != "name" || words[3] != "port" {
			continue
		}
		if port, err := strconv.ParseUint(words[4], 10, 16); err == nil {
			nodes = append(nodes, Node{Name: words[1], Port: uint16(port)})
		}
	}
	return nodes, nil
}

// register registers n; the registration lasts until the connection is closed.
func register(ctx context.Context, address string, n Node) (c net.Conn, creation uint32, err error) {
	if c, err = dial(ctx, address); err != nil {
		return nil, 0, err
	}
	if creation, err = alive(c, n); err != nil {
		c.Close()
		return nil, 0, err
	}
	c.SetDeadline(time.Time{})
	return c, creation, nil
}

func alive(c net.Conn, n Node) (uint32, error) {
	if _, err := c.Write(appendRequest(reqAlive, appendNode(nil, n))); err != nil {
		return 0, err
	}
	var p [6]byte
	if _, err := io.ReadFull(c, p[:2]); err != nil {
		return 0, err
	}
	size := 4
	switch p[0] {
	case respAlive:
		size = 2
	case respAliveX:
	default:
		return 0, fmt.Errorf("%w: answer to a registration", ErrProtocol)
	}
	if p[1] != 0 {
		return 0, fmt.Errorf("%s: %w", n.Name, ErrTaken)
	}
	if _, err := io.ReadFull(c, p[2:2+size]); err != nil {
		return 0, err
	}
	if size == 2 {
		return uint32(binary.BigEndian.Uint16(p[2:])), nil
	}
	return binary.BigEndian.Uint32(p[2:]), nil
}
