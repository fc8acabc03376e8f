package epmd

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"reflect"
	"testing"
	"time"
)

func listen(t *testing.T, address string) *Server {
	t.Helper()
	s, err := Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestRegisterAndLookup(t *testing.T) {
	ctx := t.Context()
	s := listen(t, "127.0.0.1:0")
	address := s.Addr().String()
	want := Node{Name: "nxvk", Port: 4242, Type: typeHidden, Highest: 6, Lowest: 6, Extra: []byte("x")}
	c, creation, err := register(ctx, address, want)
	if err != nil || creation < 4 {
		t.Fatalf("register: creation %d, %v", creation, err)
	}
	got, err := Lookup(ctx, address, "nxvk")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v (%v)", got, want, err)
	}
	if _, err := Lookup(ctx, address, "other"); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v, want %v", err, ErrUnknown)
	}
	if _, _, err := register(ctx, address, want); !errors.Is(err, ErrTaken) {
		t.Errorf("got %v, want %v", err, ErrTaken)
	}
	names, err := Names(ctx, address)
	if err != nil || len(names) != 1 || names[0].Name != "nxvk" || names[0].Port != 4242 {
		t.Errorf("got %+v (%v)", names, err)
	}
	// The server closes its end when it has removed the registration.
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, err := Lookup(ctx, address, "nxvk"); !errors.Is(err, ErrUnknown) {
		t.Errorf("the registration outlives its connection: %v", err)
	}
}

// TestKeeper has the port mapper die and come back, and be served here.
func TestKeeper(t *testing.T) {
	s := listen(t, "127.0.0.1:0")
	address := s.Addr().String()
	registered := make(chan uint32, 10)
	k := Keeper{Address: address, Node: Node{Name: "a", Port: 1}, Registered: func(c uint32) { registered <- c }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool)
	go func() { k.Run(ctx); close(done) }()
	<-registered
	s.Close()
	listen(t, address)
	<-registered
	if _, err := Lookup(ctx, address, "a"); err != nil {
		t.Error(err)
	}

	// One that serves, beside a port mapper that is there and then is not.
	serving := Keeper{Address: address, Serve: address, Node: Node{Name: "b", Port: 2}, Registered: func(c uint32) { registered <- c }}
	done2 := make(chan bool)
	go func() { serving.Run(ctx); close(done2) }()
	<-registered
	cancel()
	<-done
	<-done2
}

func TestKeeperServes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	registered := make(chan uint32, 10)
	k := Keeper{Address: address, Serve: address, Node: Node{Name: "b", Port: 2}, Registered: func(c uint32) { registered <- c }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool)
	go func() { k.Run(ctx); close(done) }()
	<-registered
	if _, err := Lookup(ctx, address, "b"); err != nil {
		t.Error(err)
	}
	cancel()
	<-done
}

// TestJunk sends what is no request and asks for what is refused.
func TestJunk(t *testing.T) {
	s := listen(t, "127.0.0.1:0")
	address := s.Addr().String()
	for _, p := range [][]byte{
		{}, {0}, {0, 0}, {0xff, 0xff, 'z'}, {0, 1, 'k'}, {0, 1, 'd'}, {0, 3, 's', 'x', 'y'}, {0, 1, 'x'},
		appendRequest(reqAlive, appendNode(nil, Node{Name: "a@b"})), appendRequest(reqAlive, bytes.Repeat([]byte{255}, 20)),
	} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c.Write(p)
		c.(*net.TCPConn).CloseWrite()
		c.SetReadDeadline(time.Now().Add(time.Second))
		if n, err := c.Read(make([]byte, 10)); n > 0 || err == nil {
			t.Errorf("% x: an answer of %d bytes (%v)", p, n, err)
		}
		c.Close()
	}
	if names, err := Names(t.Context(), address); err != nil || len(names) > 0 {
		t.Errorf("got %v (%v)", names, err)
	}
}

func TestDefaultAddress(t *testing.T) {
	t.Setenv("ERL_EPMD_PORT", "4000")
	t.Setenv("ERL_EPMD_ADDRESS", "127.0.0.2,::1")
	if got := DefaultAddress(); got != "127.0.0.2:4000" {
		t.Errorf("got %s", got)
	}
}

// TestListenBeside serves one more address than that of the registrations, and takes none
// twice.
func TestListenBeside(t *testing.T) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(first.Addr().String())
	first.Close()
	for _, serve := range []string{"0.0.0.0:" + port, "127.0.0.2:" + port} {
		ctx, cancel := context.WithCancel(t.Context())
		registered, ended := make(chan uint32, 1), make(chan bool)
		k := Keeper{Address: "127.0.0.1:" + port, Serve: serve, Node: Node{Name: "n", Port: 7}, Registered: func(c uint32) { registered <- c }}
		go func() { k.Run(ctx); close(ended) }()
		<-registered
		for _, asked := range []string{"127.0.0.1:" + port, "127.0.0.2:" + port} {
			if n, err := Lookup(t.Context(), asked, "n"); err != nil || n.Port != 7 {
				t.Errorf("served at %s, asked at %s: %v (%v)", serve, asked, n, err)
			}
		}
		cancel()
		<-ended
	}
}

func FuzzNode(f *testing.F) {
	f.Add(appendNode(nil, Node{Name: "nxvk", Port: 1, Extra: []byte{1}}))
	f.Fuzz(func(t *testing.T, p []byte) {
		n, err := parseNode(p)
		if err != nil {
			return
		}
		if n.Type == 0 || n.Highest == 0 {
			return // stand for defaults
		}
		if got := appendNode(nil, n); !bytes.Equal(got, p) {
			t.Fatalf("% x becomes % x", p, got)
		}
		readRequest(bytes.NewReader(binary.BigEndian.AppendUint16(nil, uint16(len(p)))))
	})
}
