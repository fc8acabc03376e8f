package exchange

import (
	"encoding/binary"
	"time"

	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/mesh/relay"
	"nxvk/shaders"
	"nxvk/vulkan"
)

const (
	// portBytes is the size of the largest operand of a port, and gathered that of the largest result. One goroutine passes on what the
	// ranks send: on two H200s, chunks that the host combines by all its processors are as quick from 16 KiB on, and quicker with 64.
	portBytes, gathered = 16 << 10, 64 << 10
	// groupWords is how many words a workgroup should have, and mostGroups how many workgroups there are at most: all of them have to
	// be under way at once, on any device.
	groupWords, mostGroups = 1024, 4
	// endless is how long a kernel waits for words that do not come: longer than relay.Patience, and less than the device is given for a
	// submission.
	endless = 25 * time.Second
	// counted is how many times sixteen looks at a word tell how long these take.
	counted = 1 << 10
)

// Port is how a device takes part in collectives of few bytes, by a kernel of each (shaders/relay.comp). All
// methods are for the goroutine of the Executor.
type Port struct {
	*relay.Port
	relay         *relay.Relay
	cfg           Config
	kernel        *kernels.Kernel
	outbox, inbox *vulkan.Buffer
	patience      uint32 // of a kernel, in times that it looks sixteen times at a word
	closed        bool
}

// OpenPort opens a port of a device; nil is a device that cannot have one. tried is called once, unless Close comes before: with true when a
// kernel has been seen to get what the host writes meanwhile, and with false where none does; the port is closed then.
func OpenPort(cfg Config, r *relay.Relay, tried func(bool)) *Port {
	info := cfg.Device.Info()
	mode, addresses := ".bindings", info.Features.BufferDeviceAddress
	if addresses {
		mode = ".addresses"
	}
	code, err := shaders.Code("relay" + mode)
	if err != nil || !info.Features.Int64 {
		return nil
	}
	p := &Port{relay: r, cfg: cfg, patience: counted}
	if !p.alloc() {
		p.free()
		return nil
	}
	p.Port = relay.NewPort(cfg.Device, p.outbox.Bytes(), p.inbox.Bytes())
	p.kernel = cfg.Kernels.Foreign("relay"+mode, code, vulkan.Layout{Buffers: 5, PushBytes: 16, Addresses: addresses, Whole: true})
	if p.kernel.Done() {
		p.try(tried)
	} else {
		p.kernel.Then(func() { p.try(tried) })
	}
	return p
}

// alloc takes the memory: a device sees what the host writes to memory of the device, and the host reads its own at full speed.
func (p *Port) alloc() bool {
	var err error
	if p.inbox, err = p.cfg.Device.AllocHost(relay.InboxBytes(gathered)); err != nil || !p.inbox.DeviceLocal() {
		return false
	}
	p.outbox, err = p.cfg.Device.AllocReader(relay.OutboxBytes(portBytes))
	return err == nil && p.outbox.Share() != nil
}

func (p *Port) free() {
	for _, b := range []*vulkan.Buffer{p.inbox, p.outbox} {
		if b != nil {
			b.Free()
		}
	}
}

// Close gives the memory back, once the device has done what has been recorded. Nobody waits for the host any more.
func (p *Port) Close() {
	if p.closed {
		return
	}
	p.closed = true
	p.relay.Close(p.Port)
	p.kernel.Release()
	p.free()
}

// try has the device carry out a turn of its own, and one that nobody answers, which tells how long a look takes.
func (p *Port) try(tried func(bool)) {
	if p.closed {
		return
	}
	same := func(operands [][]byte) ([][]byte, error) { return operands, nil }
	t := p.relay.Begin([]*relay.Port{p.Port}, 4, same, func(error) {})
	refuse := func() {
		p.Close()
		tried(false)
	}
	if p.kernel.Err() != nil || t == nil {
		refuse()
		return
	}
	p.attempt(t.Number(0), func(missed bool) {
		if p.relay.End(t); missed || !t.Answered() {
			refuse()
			return
		}
		began := time.Now()
		p.attempt(p.relay.Unanswered(p.Port), func(bool) {
			p.patience = uint32(min(max(float64(counted)*endless.Seconds()/time.Since(began).Seconds(), counted), 1<<31))
			tried(true)
		})
	})
}

// attempt has the device carry out a turn of a word at once. end is called when it has, unless the port has been closed.
func (p *Port) attempt(number uint32, end func(missed bool)) {
	f := p.cfg.Feeds.Own()
	ended := func(missed bool) {
		if !p.closed {
			end(missed)
		}
	}
	from, err := f.Zeroed(4)
	if err != nil {
		ended(true)
		return
	}
	defer from.Free()
	to, err := f.Zeroed(4)
	if err != nil {
		ended(true)
		return
	}
	defer to.Free()
	if err := p.Record(f, number, from, to, 4, 4, ended); err != nil {
		ended(true)
		return
	}
	f.Flush()
}

// Record records the part of the device in a turn behind what has been recorded in a feed: it sends so many bytes of
// the operand and writes as many of the result as it gets. end is called when the device has done so, or never will; missed says that
// it has no result.
func (p *Port) Record(f *feed.Feed, number uint32, operand, result *vulkan.Buffer, send, receive int, end func(missed bool)) error {
	check, err := f.OpenCheck(func(word uint32) { end(word != 0) })
	if err != nil {
		return err
	}
	var push []byte
	for _, x := range []uint32{uint32(send / 4), uint32(receive / 4), number, p.patience} {
		push = binary.LittleEndian.AppendUint32(push, x)
	}
	args := []vulkan.Arg{vulkan.ReadOnly(operand), vulkan.WriteOnly(p.outbox), vulkan.ReadOnly(p.inbox), vulkan.WriteOnly(result), check.Arg()}
	groups := min(max(send, receive)/4/groupWords+1, mostGroups)
	if err := f.Dispatch(p.kernel, args, push, uint32(groups)); err != nil {
		check.Drop()
		return err
	}
	f.AddChecks([]*feed.Check{check})
	return nil
}
