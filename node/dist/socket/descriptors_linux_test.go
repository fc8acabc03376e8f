package socket

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// A root without /dev/null has descriptors, and a process at its limit has none.
func TestCheckDescriptors(t *testing.T) {
	if err := CheckDescriptors(); err != nil {
		t.Fatalf("below the limit: %v", err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	got := CheckDescriptors()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(got, ErrDescriptors) {
		t.Fatalf("at the limit: got %v, want %v", got, ErrDescriptors)
	}
	if after, err := os.ReadDir("/proc/self/fd"); err != nil || len(after) != len(open) {
		t.Fatalf("%d files are open, and %d before (%v)", len(after), len(open), err)
	}
}
