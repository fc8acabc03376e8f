package feed

import (
	"testing"
	"time"

	"nxvk/gen/exec/exectest/harness"
	"nxvk/vulkan"
)

// The clock of an instruction begins when what was submitted before it is complete; that
// of a run goes on from one of its submissions to the next.
func TestProgress(t *testing.T) {
	d := harness.Open(t, vulkan.Options{})
	b, err := d.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	stream := d.Stream()
	at := func(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0) }
	var p progress
	var tickets []vulkan.Ticket
	submit := func(now int, x *Effort) {
		if err := stream.Fill(vulkan.WriteOnly(b), 1, 64); err != nil {
			t.Fatal(err)
		}
		ticket, err := stream.Submit()
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, ticket)
		p.works(x)
		p.works(x)
		p.submit(ticket, 3, 0.5, at(now))
	}
	first := func(want int) {
		t.Helper()
		if got := p.sent[0].since; !got.Equal(at(want)) {
			t.Errorf("the clock of the first of %d began at %v, want %v", len(p.sent), got, at(want))
		}
	}
	run := &Effort{}
	submit(0, nil)
	submit(1, run)
	submit(2, run)
	submit(3, nil)
	first(0)
	p.complete(tickets[0], at(10))
	first(10)
	p.complete(tickets[1], at(20))
	first(10)
	submit(21, run)
	p.complete(tickets[2], at(30))
	first(30)
	p.complete(tickets[3], at(40))
	first(10)
	p.complete(tickets[4], at(50))
	submit(60, nil)
	first(60)
	p.complete(tickets[5], at(70))
	if len(p.sent) != 0 || len(p.efforts) != 0 {
		t.Errorf("%+v is left", p)
	}
}
