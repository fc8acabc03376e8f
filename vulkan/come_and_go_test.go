package vulkan

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

var made = flag.Int("made", 150, "pipelines that TestPipelinesComeAndGo makes")

// coming is a pipeline that scrambles a word.
type coming struct {
	*Pipeline
	value, count uint32
	last         Ticket // of the last batch with it
}

// scrambled is what value_bind.comp makes of a word.
func (c *coming) scrambled(x uint32) uint32 {
	for i := range c.count {
		x = (x^(c.value+i))*2654435761 + x>>15
	}
	return x
}

// TestPipelinesComeAndGo has four goroutines make pipelines, runs them, and destroys those that have not run lately, while
// others are being compiled and run. Each gives the numbers of its own constants.
func TestPipelinesComeAndGo(t *testing.T) {
	for name, fault := range map[string]Fault{"as the driver needs it": {}, "apart": {PipelinesApart: true}} {
		t.Run(name, func(t *testing.T) {
			pipelinesComeAndGo(t, openTest(t, Options{Watchdog: 20 * time.Second, Fault: fault}))
		})
	}
}

func pipelinesComeAndGo(t *testing.T, d *Device) {
	const live, together, words = 48, 4, 64
	code := readWords(t, "value_bind.spv")
	compiled := make(chan *coming)
	var left sync.WaitGroup
	for worker := range 4 {
		left.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 8))
			for range *made / 4 {
				c := &coming{value: r.Uint32(), count: 1 + r.Uint32N(60)}
				p, err := d.Pipeline("value", code, Layout{Buffers: 1, PushBytes: 4, Spec: []uint32{c.value, c.count}})
				if err != nil {
					t.Error(err)
					return
				}
				c.Pipeline = p
				compiled <- c
			}
		})
	}
	go func() { left.Wait(); close(compiled) }()

	r, s := rand.New(rand.NewPCG(7, 9)), d.Stream()
	b := must(d.Alloc(4 * words))(t)
	want := make([]uint32, words)
	if err := s.Upload(b, 0, make([]byte, 4*words)); err != nil {
		t.Fatal(err)
	}
	var batch []*coming
	run := func(c *coming) {
		batch = append(batch, c)
		at := r.Uint32N(words)
		if err := s.Dispatch(c.Pipeline, []Arg{ReadWrite(b)}, binary.LittleEndian.AppendUint32(nil, at), 1, 1, 1); err != nil {
			t.Fatal(err)
		}
		want[at] = c.scrambled(want[at])
	}
	var all, old []*coming
	for c := range compiled {
		run(c)
		for range r.IntN(4) {
			if len(all) > 0 {
				run(all[r.IntN(len(all))])
			}
		}
		ticket := must(s.Submit())(t)
		for _, c := range batch {
			c.last = ticket
		}
		batch = batch[:0]
		if all = append(all, c); len(all) > live {
			old, all = append(old, all[0]), all[1:]
		}
		if len(old) == together {
			gone := old
			old = nil
			d.Notify(d.Submitted(), func(err error) {
				if err != nil {
					return // the device is being closed, and destroys them
				}
				for _, c := range gone {
					if !d.Done(c.last) {
						t.Error("a pipeline is to be destroyed before the end of its last batch")
					}
					c.Free()
				}
			})
		}
		if r.IntN(8) > 0 {
			continue
		}
		got := read(t, d, s, b)
		for i, w := range want {
			if g := binary.LittleEndian.Uint32(got[4*i:]); g != w {
				t.Fatalf("word %d is %#x, want %#x, after %d pipelines", i, g, w, d.Stats().Pipelines)
			}
		}
	}
}
