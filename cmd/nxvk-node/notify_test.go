//go:build unix

package main

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The node tells systemd when it serves, and when SIGTERM has made it stop.
func TestNotify(t *testing.T) {
	// A path of a socket has 104 bytes at most on some systems: that of t.TempDir may be longer.
	dir, err := os.MkdirTemp("", "nxvk")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	c := program(binary, t.TempDir(), runFlags(t, "--device", "host")[:3]...)
	c.Args = append(c.Args, "--device", "host", "--cache-dir", "-")
	c.Env = append(c.Env, "NOTIFY_SOCKET="+path)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	said := func() string {
		t.Helper()
		if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 256)
		n, err := socket.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	if got := said(); got != "READY=1" {
		t.Fatalf("the node said %q at its start", got)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := said(); got != "STOPPING=1" {
		t.Errorf("the node said %q at its end", got)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}
