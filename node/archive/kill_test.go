package archive

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// child puts entries until it is killed, and prints a line before each.
func child(dir string) {
	a, err := openFor(dir, Limit, []byte("one"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		fmt.Println("writing")
		key := fmt.Sprint("entry ", os.Getpid(), i)
		a.Put(key, bytes.Repeat(contents(key), 100))
		if i%4 == 0 {
			a.Flush()
		}
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv("ARCHIVE_TEST_CHILD"); dir != "" {
		child(dir)
	}
	os.Exit(m.Run())
}

// A process that is killed while it writes leaves nothing that a later one would
// believe and that is not whole, and nothing that keeps it from writing.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	whole := 0
	for round := range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "ARCHIVE_TEST_CHILD="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It is killed at another entry each round, and wherever its goroutine is that writes.
		lines := bufio.NewScanner(out)
		for range 6 + 3*round {
			if !lines.Scan() || lines.Text() != "writing" {
				t.Fatalf("the child says %q, %v", lines.Text(), lines.Err())
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		a := open(t, dir, Limit, "one")
		for i := range 10000 {
			key := fmt.Sprint("entry ", cmd.Process.Pid, i)
			got := a.Get(key)
			if got == nil {
				continue
			}
			if whole++; !bytes.Equal(got, bytes.Repeat(contents(key), 100)) {
				t.Fatalf("entry %d is believed and not whole", i)
			}
		}
	}
	if whole < 8 {
		t.Errorf("%d entries in all; the children wrote more", whole)
	}
}
