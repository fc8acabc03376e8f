package epmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Keeper keeps a node registered. It tries again whenever the port mapper goes away. With
// Serve it serves a port mapper itself while nobody else does.
type Keeper struct {
	Address string // of the port mapper
	Serve   string // an address to serve a port mapper at, besides Address; "" serves none
	Node    Node
	// Report is told of an error when it differs from the one before. May be nil.
	Report func(error)
	// Registered is told of every registration. May be nil.
	Registered func(creation uint32)
}

// Run keeps the node registered until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	var server *Server
	defer func() {
		if server != nil {
			server.Close()
		}
	}()
	pause, told := firstPause, ""
	for ctx.Err() == nil {
		if k.Serve != "" && server == nil {
			// Whoever holds the port serves. A Keeper that loses that race
			// registers with the winner. One that wins serves until the end.
			server, _ = Listen(k.Serve, k.Address)
		}
		c, creation, err := register(ctx, k.Address, k.Node)
		if err == nil {
			pause, told = firstPause, ""
			if k.Registered != nil {
				k.Registered(creation)
			}
			hold(ctx, c)
			continue
		}
		if text := err.Error(); text != told && ctx.Err() == nil && k.Report != nil {
			told = text
			k.Report(explain(k.Node.Name, k.Address, err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			pause = min(2*pause, lastPause)
		}
	}
}

// hold waits until the port mapper closes the connection or ctx is done.
func hold(ctx context.Context, c net.Conn) {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	defer c.Close()
	awaitEnd(c)
}

// awaitEnd reads until the connection ends.
func awaitEnd(c net.Conn) {
	var p [16]byte
	for {
		if _, err := c.Read(p[:]); err != nil {
			return
		}
	}
}

func explain(name, address string, err error) error {
	switch {
	case errors.Is(err, ErrTaken):
		return fmt.Errorf("register %s with epmd at %s: another live node has this name: %w", name, address, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("register %s: no epmd at %s (start one with: epmd -daemon): %w", name, address, err)
	}
	return fmt.Errorf("register %s with epmd at %s: %w", name, address, err)
}
