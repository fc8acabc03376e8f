package vulkan

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"nxvk/vulkan/vk"
)

func openBench(b *testing.B) *Device {
	b.Helper()
	d, err := Open(os.Getenv("NXVK_DEVICE"), Options{})
	if err != nil {
		b.Skipf("no device: %v", err)
	}
	b.Cleanup(func() { d.Close() })
	return d
}

// BenchmarkRecord measures the time of Dispatch, without the recording of a command buffer.
func BenchmarkRecord(b *testing.B) {
	d := openBench(b)
	p := affine(b, d, !d.Info().Bindings)
	x, y := must(d.Alloc(4096))(b), must(d.Alloc(4096))(b)
	s := d.Stream()
	push := affinePush(1, 1, 1)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if err := s.Dispatch(p, []Arg{WriteOnly(x), ReadOnly(y)}, push, 1, 1, 1); err != nil {
			b.Fatal(err)
		}
		x, y = y, x
		if i%1024 == 1023 {
			b.StopTimer()
			s.Discard()
			b.StartTimer()
		}
	}
	s.Discard()
}

// BenchmarkSubmit1000 measures recording and submitting 1,000 dependent
// kernels, and their execution.
func BenchmarkSubmit1000(b *testing.B) {
	d := openBench(b)
	p := affine(b, d, !d.Info().Bindings)
	x, y := must(d.Alloc(4096))(b), must(d.Alloc(4096))(b)
	s := d.Stream()
	push := affinePush(1024, 1, 1)
	for b.Loop() {
		for range 1000 {
			if err := s.Dispatch(p, []Arg{WriteOnly(x), ReadOnly(y)}, push, 16, 1, 1); err != nil {
				b.Fatal(err)
			}
			x, y = y, x
		}
		wait(b, d, must(s.Submit())(b))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/dispatch")
	b.ReportMetric(float64(d.Stats().SubmitTime.Nanoseconds())/float64(d.Stats().Dispatches), "ns-submit/dispatch")
}

// BenchmarkQueue measures what the device takes for a small kernel among others, by its clock: 960 kernels that
// depend on one another or do not, in submissions of several sizes.
func BenchmarkQueue(b *testing.B) {
	for _, dependent := range []bool{true, false} {
		for _, size := range []int{960, 240, 60} {
			b.Run(fmt.Sprintf("dependent=%v/submission=%d", dependent, size), func(b *testing.B) { benchQueue(b, dependent, size) })
		}
	}
}

func benchQueue(b *testing.B, dependent bool, size int) {
	const all, each = 960, 4096
	d := openBench(b)
	if !d.Info().Features.Timestamps {
		b.Skip("no timestamps")
	}
	p := affine(b, d, !d.Info().Bindings)
	x, y := must(d.Alloc(all*each))(b), must(d.Alloc(all*each))(b)
	times := must(d.AllocHost(16))(b)
	s := d.Stream()
	push := affinePush(each/4, 1, 1)
	ticks := 0.0
	stamp := func(i int) {
		if err := s.Timestamp(Arg{Buffer: times, Offset: 8 * i}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		var last Ticket
		for i := range all {
			if i == 0 {
				stamp(0)
			}
			part := func(a Access) Arg { return Arg{Offset: i * each, Size: each, Access: a} }
			out, in := part(Write), part(Read)
			out.Buffer, in.Buffer = x, y
			if dependent {
				out.Offset, in.Offset = 0, 0
				x, y = y, x
			}
			if err := s.Dispatch(p, []Arg{out, in}, push, 4, 1, 1); err != nil {
				b.Fatal(err)
			}
			if i == all-1 {
				stamp(1)
			}
			if (i+1)%size == 0 {
				last = must(s.Submit())(b)
			}
		}
		wait(b, d, last)
		data := times.Bytes()
		ticks += float64(binary.LittleEndian.Uint64(data[8:]) - binary.LittleEndian.Uint64(data))
	}
	b.ReportMetric(ticks*d.Info().Limits.TimestampPeriod/float64(b.N)/all, "ns-device/dispatch")
}

// BenchmarkReplay measures the recording of 1,000 dependent kernels into a
// command buffer.
func BenchmarkReplay(b *testing.B) {
	d := openBench(b)
	p := affine(b, d, !d.Info().Bindings)
	x, y := must(d.Alloc(4096))(b), must(d.Alloc(4096))(b)
	s := d.Stream()
	for range 1000 {
		if err := s.Dispatch(p, []Arg{WriteOnly(x), ReadOnly(y)}, affinePush(1024, 1, 1), 16, 1, 1); err != nil {
			b.Fatal(err)
		}
		x, y = y, x
	}
	rec, _ := vk.CreateRecorder(d.dev.VK, 0)
	defer vk.DestroyRecorder(d.dev.VK, rec)
	for b.Loop() {
		if r := vk.Replay(d.dev.VK, rec, s.list.Cmds, s.list.Push, s.list.Binds, 0, true); r != vk.Success {
			b.Fatal(r)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/dispatch")
	s.Discard()
}

// BenchmarkNotify measures one kernel from recording to Notify's call.
func BenchmarkNotify(b *testing.B) {
	d := openBench(b)
	p := affine(b, d, !d.Info().Bindings)
	x := must(d.Alloc(4096))(b)
	s := d.Stream()
	done := make(chan error)
	for b.Loop() {
		if err := s.Dispatch(p, []Arg{ReadWrite(x), ReadWrite(x)}, affinePush(1, 1, 1), 1, 1, 1); err != nil {
			b.Fatal(err)
		}
		d.Notify(must(s.Submit())(b), func(err error) { done <- err })
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLatency measures one kernel from recording to the end of Wait.
func BenchmarkLatency(b *testing.B) {
	d := openBench(b)
	p := affine(b, d, !d.Info().Bindings)
	x := must(d.Alloc(4096))(b)
	s := d.Stream()
	for b.Loop() {
		if err := s.Dispatch(p, []Arg{ReadWrite(x), ReadWrite(x)}, affinePush(1, 1, 1), 1, 1, 1); err != nil {
			b.Fatal(err)
		}
		if err := d.Wait(context.Background(), must(s.Submit())(b)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAlloc(b *testing.B) {
	d := openBench(b)
	b.ReportAllocs()
	for b.Loop() {
		must(d.Alloc(4096))(b).Free()
	}
}

func BenchmarkUpload(b *testing.B)   { benchTransfer(b, true) }
func BenchmarkDownload(b *testing.B) { benchTransfer(b, false) }

func benchTransfer(b *testing.B, up bool) {
	for name, n := range map[string]int{"4KiB": 4 << 10, "1MiB": 1 << 20, "64MiB": 64 << 20} {
		b.Run(name, func(b *testing.B) {
			d := openBench(b)
			x, data := must(d.Alloc(n))(b), make([]byte, n)
			s := d.Stream()
			b.SetBytes(int64(n))
			for b.Loop() {
				if up {
					if err := s.Upload(x, 0, data); err != nil {
						b.Fatal(err)
					}
					wait(b, d, must(s.Submit())(b))
					continue
				}
				r := must(s.Download(x, 0, n))(b)
				wait(b, d, must(s.Submit())(b))
				r.Release()
			}
		})
	}
}

func BenchmarkCopy(b *testing.B) {
	d := openBench(b)
	const n = 256 << 20
	x, y := must(d.Alloc(n))(b), must(d.Alloc(n))(b)
	s := d.Stream()
	b.SetBytes(n)
	for b.Loop() {
		if err := s.Copy(WriteOnly(x), ReadOnly(y), n); err != nil {
			b.Fatal(err)
		}
		wait(b, d, must(s.Submit())(b))
	}
}
