package mesh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"nxvk/vulkan"
)

// route is a way of bytes over the bus of a device: which queue moves them, from or to which memory of the host, in
// chunks of which size, and how many chunks the device has at a time.
type route struct {
	what   string // down is to the host, up is to the device; both at once
	queue  string // copy; kernel, in one submission for both ways; mixed is down by copy and up by kernel, the other way round is reverse
	memory string // imported or allocated
	bytes  int    // of a chunk
	depth  int
}

var errNoBus = errors.New("the host has no bus: name devices of Vulkan")

// bus measures what the buses of devices move, by the queue, the memory of the host, the size of chunks and their
// number: of the first device, and of all at once. Then it measures relays from the first to the second one, whose
// chunks the second one takes when the first has completed them.
func (all Sides) bus(ctx context.Context, r *report, c Config) error {
	for _, s := range all {
		if s.dev == nil {
			return errNoBus
		}
	}
	least := max(c.Time/20, time.Millisecond)
	var routes []route
	for _, queue := range []string{"copy", "kernel", "mixed", "reverse"} {
		for _, memory := range []string{"imported", "allocated"} {
			for _, what := range []string{"down", "up", "both"} {
				for bytes := c.Least; bytes <= min(c.Most, 32<<20); bytes *= 2 {
					for _, depth := range []int{1, 2, 4, 6} {
						if (queue == "mixed" || queue == "reverse") && (memory != "imported" || what != "both") {
							continue
						}
						routes = append(routes, route{what, queue, memory, bytes, depth})
					}
				}
			}
		}
	}
	for _, some := range []Sides{all[:1], all} {
		for _, way := range routes {
			if !c.wants(way.name(way.what, len(some))) {
				continue
			}
			if err := some.move(ctx, r, way, least); err != nil {
				return fmt.Errorf("%+v: %w", way, err)
			}
		}
	}
	for _, way := range routes {
		if way.memory == "imported" && way.what != "up" && c.wants(way.name(way.relayName(), 2)) {
			if err := all[:2].relays(ctx, r, way, least); err != nil {
				return fmt.Errorf("relay %+v: %w", way, err)
			}
		}
	}
	return nil
}

// name is that of a route by which --rows finds it.
func (w route) name(what string, devices int) string {
	return fmt.Sprintf("%s %s %s %d ×%d on %d", what, w.queue, w.memory, w.bytes, w.depth, devices)
}

// relayName is what a relay by the route is called.
func (w route) relayName() string {
	if w.what == "both" {
		return "relay both ways"
	}
	return "relay"
}

// row is that of a route, which has moved so many chunks.
func (w route) row(what string, devices, n int, took time.Duration) Row {
	var list []int
	for i := range devices {
		list = append(list, i)
	}
	micros := float64(took.Nanoseconds()) / 1e3 / float64(n)
	return Row{What: what, Devices: list, Bytes: w.bytes, Micros: micros, GBs: float64(w.bytes) / micros / 1e3, Rounds: n,
		Queue: w.queue, Memory: w.memory, Depth: w.depth}
}

// direction is one of the two directions of a route of a device.
type direction struct {
	dev       *vulkan.Device
	stream    *vulkan.Stream
	up        bool
	own, host *vulkan.Buffer
	mem       *vulkan.HostMemory // of host where it is imported by this direction alone
}

// open returns one direction of a route of a device. mem is the memory that it imports, nil for memory of its own.
func (s *Side) open(w route, up bool, mem *vulkan.HostMemory) (l *direction, err error) {
	l = &direction{dev: s.dev, up: up}
	n := w.bytes * w.depth
	if w.queue == "copy" || w.queue == "mixed" && !up || w.queue == "reverse" && up {
		l.stream = s.dev.CopyStream(map[bool]int{false: 0, true: 1}[up])
	} else {
		l.stream = s.dev.Stream()
	}
	if l.own, err = s.dev.Alloc(n); err != nil {
		return nil, err
	}
	switch {
	case mem != nil:
		l.host, err = s.dev.Import(mem)
	case w.memory == "imported":
		l.mem = vulkan.AllocShared(n)
		l.host, err = s.dev.Import(l.mem)
	default:
		l.host, err = s.dev.AllocReader(n)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *direction) close() {
	for _, b := range []*vulkan.Buffer{l.own, l.host} {
		if b != nil {
			b.Free()
		}
	}
	if l.mem != nil {
		l.mem.Free()
	}
	l.dev.Trim()
}

// record records the copy of a chunk.
func (l *direction) record(w route, k int) error {
	at := k % w.depth * w.bytes
	from, to := l.own, l.host
	if l.up {
		from, to = l.host, l.own
	}
	return l.stream.Copy(vulkan.Arg{Buffer: to, Offset: at}, vulkan.Arg{Buffer: from, Offset: at}, w.bytes)
}

// directions opens those of a route on a device. Kernels of both directions are in one stream, so that they run at the
// same time.
func (s *Side) directions(w route) (list []*direction, err error) {
	for _, up := range []bool{false, true} {
		if w.what == "down" && up || w.what == "up" && !up {
			continue
		}
		l, err := s.open(w, up, nil)
		if err != nil {
			return list, err
		}
		if len(list) > 0 && w.queue == "kernel" {
			l.stream = list[0].stream
		}
		list = append(list, l)
	}
	return list, nil
}

// move measures a route on several devices at once.
func (all Sides) move(ctx context.Context, r *report, w route, least time.Duration) error {
	var directions []*direction
	defer func() {
		for _, l := range directions {
			l.close()
		}
	}()
	var groups [][]*direction // each of one stream
	for _, s := range all {
		list, err := s.directions(w)
		directions = append(directions, list...)
		if err != nil {
			return err
		}
		for _, l := range list {
			if n := len(groups); n > 0 && groups[n-1][0].stream == l.stream {
				groups[n-1] = append(groups[n-1], l)
			} else {
				groups = append(groups, []*direction{l})
			}
		}
	}
	counts, times, errs := make([]int, len(groups)), make([]time.Duration, len(groups)), make([]error, len(groups))
	var wait sync.WaitGroup
	for i, g := range groups {
		wait.Go(func() { counts[i], times[i], errs[i] = w.pump(ctx, g, least) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	slow := 0 // the slowest stream counts
	for i := range groups {
		if times[i]*time.Duration(counts[slow]) > times[slow]*time.Duration(counts[i]) {
			slow = i
		}
	}
	return r.add(w.row(w.what, len(all), counts[slow], times[slow]))
}

// pump moves chunks for a time, by the directions of one stream.
func (w route) pump(ctx context.Context, directions []*direction, least time.Duration) (n int, took time.Duration, err error) {
	dev, stream := directions[0].dev, directions[0].stream
	var sent []vulkan.Ticket
	var start time.Time
	for k := 0; ; k++ {
		if len(sent) == w.depth {
			if err := dev.Wait(ctx, sent[0]); err != nil {
				return 0, 0, err
			}
			sent = slices.Delete(sent, 0, 1)
		}
		switch now := time.Now(); {
		case k == 2*w.depth: // pages are touched
			start = now
		case k > 2*w.depth && now.Sub(start) >= least:
			return k - 2*w.depth, now.Sub(start), nil
		}
		for _, l := range directions {
			if err := l.record(w, k); err != nil {
				return 0, 0, err
			}
		}
		ticket, err := stream.Submit()
		if err != nil {
			return 0, 0, err
		}
		sent = append(sent, ticket)
	}
}

// relays measures chunks that pass from one device to the other, and with both from either to the other.
func (all Sides) relays(ctx context.Context, r *report, w route, least time.Duration) error {
	pairs := [][2]*Side{{all[0], all[1]}}
	if w.what == "both" {
		pairs = append(pairs, [2]*Side{all[1], all[0]})
	}
	counts, times, errs := make([]int, len(pairs)), make([]time.Duration, len(pairs)), make([]error, len(pairs))
	var wait sync.WaitGroup
	for i, p := range pairs {
		wait.Go(func() { counts[i], times[i], errs[i] = w.relay(ctx, p[0], p[1], least) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	slow := 0
	if len(pairs) > 1 && times[1]*time.Duration(counts[0]) > times[0]*time.Duration(counts[1]) {
		slow = 1
	}
	return r.add(w.row(w.relayName(), 2, counts[slow], times[slow]))
}

// pair opens the directions of a relay over memory that both devices import.
func (w route) pair(from, to *Side, mem *vulkan.HostMemory) (down, up *direction, err error) {
	if down, err = from.open(w, false, mem); err != nil {
		return nil, nil, err
	}
	if up, err = to.open(w, true, mem); err != nil {
		down.close()
	}
	return down, up, err
}

// relay passes chunks from one device to another, over memory that both import.
func (w route) relay(ctx context.Context, from, to *Side, least time.Duration) (n int, took time.Duration, err error) {
	mem := vulkan.AllocShared(w.bytes * w.depth)
	defer mem.Free()
	down, up, err := w.pair(from, to, mem)
	if err != nil {
		return 0, 0, err
	}
	defer down.close()
	defer up.close()
	free, full, failed := make(chan int, w.depth), make(chan int, w.depth), make(chan error, 2*w.depth+2)
	step := func(l *direction, k int, next chan int) {
		err := l.record(w, k)
		var ticket vulkan.Ticket
		if err == nil {
			ticket, err = l.stream.Submit()
		}
		if err != nil {
			failed <- err
			return
		}
		l.dev.Notify(ticket, func(err error) {
			if err != nil {
				failed <- err
			}
			next <- k
		})
	}
	go func() {
		for k := range full {
			step(up, k, free)
		}
	}()
	defer close(full)
	var start time.Time
	for k := 0; ; k++ {
		if k >= w.depth {
			select {
			case <-free:
			case err := <-failed:
				return 0, 0, err
			case <-ctx.Done():
				return 0, 0, ctx.Err()
			}
		}
		switch now := time.Now(); {
		case k == 2*w.depth:
			start = now
		case k > 2*w.depth && now.Sub(start) >= least:
			for range w.depth - 1 { // those that are under way
				select {
				case <-free:
				case err := <-failed:
					return 0, 0, err
				}
			}
			return k - 2*w.depth, now.Sub(start), nil
		}
		step(down, k, full)
	}
}
