package vulkan

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"nxvk/vulkan/submit"
)

// TestDeviceLost loses the device between submissions, and reopens it.
func TestDeviceLost(t *testing.T) {
	submits := 0
	o := Options{Fault: Fault{Lost: func() bool { submits++; return submits == 3 }}}
	d := openTest(t, o)
	p := affine(t, d, true)
	b := must(d.Alloc(4))(t)
	s := d.Stream()
	record := func() error {
		return s.Dispatch(p, []Arg{ReadWrite(b), ReadWrite(b)}, affinePush(1, 1, 1), 1, 1, 1)
	}
	var last Ticket
	for range 2 {
		if err := record(); err != nil {
			t.Fatal(err)
		}
		last = must(s.Submit())(t)
	}
	wait(t, d, last)
	if err := record(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(); !errors.Is(err, ErrDeviceLost) {
		t.Fatalf("submit: got %v, want ErrDeviceLost", err)
	}
	heard := make(chan error, 1)
	d.Notify(never(), func(err error) { heard <- err })
	for name, err := range map[string]error{
		"lost":     d.Lost(),
		"wait":     d.Wait(context.Background(), never()),
		"notify":   <-heard,
		"alloc":    second(d.Alloc(4)),
		"pipeline": second(d.Pipeline("x", readWords(t, "affine_addr.spv"), Layout{Buffers: 2, PushBytes: 12, Addresses: true})),
		"submit":   second(s.Submit()),
	} {
		if !errors.Is(err, ErrDeviceLost) {
			t.Errorf("%s: got %v, want ErrDeviceLost", name, err)
		}
	}
	b.Free()
	e := must(d.Reopen())(t)
	defer e.Close()
	if e.Lost() != nil {
		t.Fatalf("reopened: %v", e.Lost())
	}
	c := must(e.Alloc(4))(t)
	s = e.Stream()
	if err := s.Upload(c, 0, word(7)); err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint32(read(t, e, s, c)); got != 7 {
		t.Errorf("got %d, want 7", got)
	}
}

// TestRecordFault fails the recording of a command buffer. The device is lost with it, since later
// work would find what memory held before.
func TestRecordFault(t *testing.T) {
	fail := false
	d := openTest(t, Options{Fault: Fault{Record: func() bool { return fail }}})
	b := must(d.Alloc(4))(t)
	s := d.Stream()
	fail = true
	if err := s.Fill(WriteOnly(b), 7, 4); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(); !errors.Is(err, ErrDeviceLost) || !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("submit: got %v, want ErrDeviceLost for want of memory", err)
	}
	if _, err := d.Alloc(4); !errors.Is(err, ErrDeviceLost) {
		t.Errorf("alloc: got %v, want ErrDeviceLost", err)
	}
}

// TestRefuse makes the driver refuse kernels. The device goes on, and copies with vkCmdCopyBuffer.
func TestRefuse(t *testing.T) {
	d := openTest(t, Options{Fault: Fault{Unmapped: true, Uncached: true, Refuse: func(string) bool { return true }}})
	_, err := d.Pipeline("x", readWords(t, "affine_bind.spv"), Layout{Buffers: 2, PushBytes: 12})
	if !errors.Is(err, ErrRefused) || d.Lost() != nil {
		t.Errorf("got %v and a device that is %v, want ErrRefused", err, d.Lost())
	}
	b, want := must(d.Alloc(1<<16))(t), randomBytes(1<<16)
	s := d.Stream()
	if err := s.Upload(b, 0, want); err != nil {
		t.Fatal(err)
	}
	if got := read(t, d, s, b); !bytes.Equal(got, want) {
		t.Error("data differ")
	}
}

func TestNotifyInOrder(t *testing.T) {
	d := openTest(t, Options{})
	b := must(d.Alloc(4))(t)
	s := d.Stream()
	const n = 200
	heard := make(chan int, n)
	for i := range n {
		if err := s.Fill(WriteOnly(b), uint32(i), 4); err != nil {
			t.Fatal(err)
		}
		d.Notify(must(s.Submit())(t), func(err error) {
			if err != nil {
				t.Error(err)
			}
			heard <- i
		})
	}
	for i := range n {
		if got := <-heard; got != i {
			t.Fatalf("heard of %d, want %d", got, i)
		}
	}
}

// never returns a submission that the device does not complete.
func never() Ticket { return Ticket{submit.New(submit.NewFlow())} }

// TestClosedDevice uses a device after Close: calls return errors, and memory that the host holds
// stays valid.
func TestClosedDevice(t *testing.T) {
	d := openTest(t, Options{})
	host, b, p := must(d.AllocHost(1000))(t), must(d.Alloc(100))(t), affine(t, d, true)
	want := randomBytes(100)
	s := d.Stream()
	shared := must(d.Alloc(100))(t)
	data := shared.Share()
	if err := s.Upload(b, 0, want); err != nil {
		t.Fatal(err)
	}
	r := must(s.Download(b, 0, 100))(t)
	ticket := must(s.Submit())(t)
	wait(t, d, ticket)
	if err := s.Dispatch(p, []Arg{WriteOnly(b), ReadOnly(b)}, affinePush(1, 1, 1), 1, 1, 1); err != nil {
		t.Fatal(err)
	}
	if b.Share() != nil {
		t.Error("memory is shared that recorded work uses")
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, err := range map[string]error{
		"alloc":    second(d.Alloc(1)),
		"submit":   second(s.Submit()),
		"pipeline": second(d.Pipeline("x", readWords(t, "affine_addr.spv"), Layout{Buffers: 2, PushBytes: 12, Addresses: true})),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: got %v, want ErrClosed", name, err)
		}
	}
	if !d.Done(ticket) || d.Done(never()) || d.Trim() != 0 || d.Stats().InFlight != 0 {
		t.Error("the closed device has work")
	}
	b.Free()
	copy(host.Bytes(), want)
	if !bytes.Equal(r.Bytes(), want) || !bytes.Equal(host.Bytes()[:100], want) {
		t.Error("data differ after Close")
	}
	if data != nil { // the host sees the memory of the device
		copy(data, want)
		if !bytes.Equal(shared.Bytes(), want) {
			t.Error("shared memory differs after Close")
		}
	}
	shared.Free()
	host.Free()
	r.Release()
}

// TestWatchdog runs a submission for longer than the watchdog allows.
func TestWatchdog(t *testing.T) {
	d, err := Open(os.Getenv("NXVK_DEVICE"), Options{Watchdog: time.Millisecond})
	if errors.Is(err, ErrNoVulkan) || errors.Is(err, ErrNoDevice) {
		t.Skipf("no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if d.Info().Kind != CPU {
		d.Close()
		t.Skip("a GPU is too fast for this work")
	}
	p := affine(t, d, false)
	const groups = 65535
	b := must(d.Alloc(4 * 64 * groups))(t)
	s := d.Stream()
	for range 40 {
		if err := s.Dispatch(p, []Arg{ReadWrite(b), ReadWrite(b)}, affinePush(64*groups, 3, 1), groups, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	ticket := must(s.Submit())(t)
	if err := d.Wait(context.Background(), ticket); !errors.Is(err, ErrDeviceLost) {
		t.Fatalf("got %v, want ErrDeviceLost", err)
	}
	e := must(d.Reopen())(t)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestHang has a kernel that does not end: the device is lost, and opened again beside it. The kernel ends with the
// test, so that the system has its device back.
func TestHang(t *testing.T) {
	d, err := Open(os.Getenv("NXVK_DEVICE"), Options{Watchdog: time.Second})
	if errors.Is(err, ErrNoVulkan) || errors.Is(err, ErrNoDevice) {
		t.Skipf("no device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := must(d.Pipeline("wait", readWords(t, "wait_bind.spv"), Layout{Buffers: 1}))(t)
	b := must(d.AllocHost(4))(t)
	gate := (*atomic.Uint32)(unsafe.Pointer(unsafe.SliceData(b.Bytes())))
	gate.Store(0)
	defer gate.Store(1)
	s := d.Stream()
	if err := s.Dispatch(p, []Arg{{Buffer: b, Access: Read}}, nil, 1<<16-1, 1, 1); err != nil {
		t.Fatal(err)
	}
	ticket := must(s.Submit())(t)
	if err := d.Wait(context.Background(), ticket); !errors.Is(err, ErrDeviceLost) {
		t.Fatalf("got %v, want ErrDeviceLost", err)
	}
	start := time.Now()
	e := must(d.Reopen())(t)
	t.Logf("opened again after %v", time.Since(start))
	defer e.Close()
	if e.Info().Kind == CPU {
		return // the kernel has the processors, and nothing ends in time beside it
	}
	b2 := must(e.Alloc(4 * 64))(t)
	s = e.Stream()
	if err := s.Upload(b2, 0, make([]byte, 4*64)); err != nil {
		t.Fatal(err)
	}
	if err := s.Dispatch(affine(t, e, false), []Arg{ReadWrite(b2), ReadWrite(b2)}, affinePush(64, 3, 7), 1, 1, 1); err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint32(read(t, e, s, b2)); got != 7 {
		t.Errorf("got %d, want 7", got)
	}
	t.Logf("computed after %v", time.Since(start))
}

// TestPollAtClose polls submissions from several goroutines while their device closes.
func TestPollAtClose(t *testing.T) {
	for range 40 {
		d := openTest(t, Options{})
		p, s := affine(t, d, false), d.Stream()
		a, b := must(d.Alloc(4096))(t), must(d.Alloc(4096))(t)
		var tickets []Ticket
		for range 16 {
			if err := s.Dispatch(p, []Arg{WriteOnly(b), ReadOnly(a)}, affinePush(64, 1, 1), 1, 1, 1); err != nil {
				t.Fatal(err)
			}
			tickets = append(tickets, must(s.Submit())(t))
		}
		var polls sync.WaitGroup
		var stop atomic.Bool
		for range 4 {
			polls.Go(func() {
				for !stop.Load() {
					for _, ticket := range tickets {
						d.Done(ticket)
					}
				}
			})
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		stop.Store(true)
		polls.Wait()
	}
}

// TestRealLoss makes a kernel write where no memory is. It runs only when
// NXVK_TEST_LOSE is set: it loses the device, and a software one kills the
// process.
func TestRealLoss(t *testing.T) {
	if os.Getenv("NXVK_TEST_LOSE") == "" {
		t.Skip("NXVK_TEST_LOSE is not set")
	}
	d, err := Open("", Options{Watchdog: 2 * time.Second})
	if err != nil || d.Info().Kind == CPU {
		t.Skipf("no GPU: %v", err)
	}
	p := must(d.Pipeline("wild", readWords(t, "affine_addr.spv"), Layout{PushBytes: 28, Addresses: true}))(t)
	push := binary.LittleEndian.AppendUint64(nil, 0x1234567890)
	push = binary.LittleEndian.AppendUint64(push, 0x1234500000)
	push = append(push, affinePush(64, 1, 1)...)
	s := d.Stream()
	if err := s.Dispatch(p, nil, push, 1, 1, 1); err != nil {
		t.Fatal(err)
	}
	ticket := must(s.Submit())(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := d.Wait(ctx, ticket); !errors.Is(err, ErrDeviceLost) {
		t.Fatalf("got %v, want ErrDeviceLost", err)
	}
	e := must(d.Reopen())(t)
	defer e.Close()
	b := must(e.Alloc(4))(t)
	s = e.Stream()
	if err := s.Upload(b, 0, word(7)); err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint32(read(t, e, s, b)); got != 7 {
		t.Errorf("got %d, want 7", got)
	}
}
