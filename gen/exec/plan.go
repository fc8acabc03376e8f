package exec

import (
	"encoding/binary"
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// planned is a plan and the pipelines of its steps.
type planned struct {
	*synth.Plan
	used
	err   error
	pipes []*compiled
}

// compiled is the pipeline of a kernel, which is asked for, being made or made.
type compiled struct {
	used
	kernel  *synth.Kernel // nil for code that clients brought
	gone    bool          // it has made room for others; see forget.go
	holders int           // shaders of sessions that are it
	asked   bool
	pipe    *vulkan.Pipeline
	err     error
	done    bool
	waiting []*Lane
	then    []func()

	// See prompt.go.
	host  synth.Host // carries the kernel out meanwhile; nil where nothing does
	spent int        // what that has cost, in elementary operations
	warm  bool       // the device has run it
}

// plan returns how the device carries out work. Plans depend on the structure
// of an instruction alone and are made once.
func (e *Executor) plan(w *work) (*planned, error) {
	e.key = planKey(e.key[:0], w)
	if p, ok := e.plans[string(e.key)]; ok {
		p.at = e.clock
		return p, p.err
	}
	p := &planned{}
	if p.Plan, p.err = synth.Lower(w.in, w.types, &e.target); p.err == nil {
		p.pipes = make([]*compiled, len(p.Steps))
		for i := range p.Steps {
			p.pipes[i] = e.wanted(p.Steps[i].Kernel)
		}
	}
	e.keepPlan(string(e.key), p)
	return p, p.err
}

// keepPlan remembers a plan.
func (e *Executor) keepPlan(key string, p *planned) {
	e.tick()
	evict(e.plans, e.room.plans, e.clock, nil, nil)
	p.at = e.clock
	e.plans[key] = p
}

// planKey is the structure of an instruction: operation, attributes, types,
// functions, and which operands are literals.
func planKey(key []byte, w *work) []byte {
	key = binary.AppendUvarint(key, uint64(w.in.Op))
	for i, t := range w.types {
		literal := byte(0)
		if w.in.Ins[i].Lit != nil {
			literal = 1
		}
		key = appendType(append(key, literal), t)
	}
	for _, r := range w.in.Outs {
		key = appendType(key, r.Type)
	}
	key = appendAttrs(key, w.in.Attrs)
	for _, r := range w.in.Regions {
		key = append(key, regionKey(r)...)
	}
	return key
}

func appendAttrs(key []byte, attrs [][]int) []byte {
	for _, a := range attrs {
		key = binary.AppendUvarint(key, uint64(len(a)))
		for _, v := range a {
			key = binary.AppendVarint(key, int64(v))
		}
	}
	return key
}

func appendType(key []byte, t ops.Type) []byte {
	key = append(key, byte(t.DType), byte(len(t.Shape)))
	for _, d := range t.Shape {
		key = binary.AppendUvarint(key, uint64(d))
	}
	return key
}

// wanted is kernel for one that is not needed yet: nobody asks for its pipeline.
func (e *Executor) wanted(k *synth.Kernel) *compiled {
	c, ok := e.kernels[k.Name]
	if !ok {
		e.roomForKernel()
		c = &compiled{kernel: k, host: e.hostOf(k)}
		e.kernels[k.Name] = c
	}
	c.at = e.clock
	return c
}

// ahead asks for the pipelines of a plan that will be needed soon, but for those that
// the host does without.
func (e *Executor) ahead(p *planned) {
	for _, c := range p.pipes {
		if c.host == nil {
			e.compile(c)
		}
	}
}

// kernel returns the pipeline of a kernel. It is compiled apart from the
// goroutine of the Executor; lanes that need it wait for it.
func (e *Executor) kernel(k *synth.Kernel) *compiled {
	c := e.wanted(k)
	e.compile(c)
	return c
}

// compile has the pipeline of a kernel made, once.
func (e *Executor) compile(c *compiled) {
	if !c.asked {
		e.compileAs(c, c.kernel.Name, c.kernel.Code, layoutOf(c.kernel, e.dev.Info()))
	}
}

// pipeline returns the pipeline of code that a client brought.
func (e *Executor) pipeline(name string, code []uint32, layout vulkan.Layout) *compiled {
	if c, ok := e.kernels[name]; ok {
		return c
	}
	e.roomForKernel()
	c := &compiled{}
	c.at = e.clock
	e.kernels[name] = c
	e.compileAs(c, name, code, layout)
	return c
}

func (e *Executor) compileAs(c *compiled, name string, code []uint32, layout vulkan.Layout) {
	c.asked = true
	var pipe *vulkan.Pipeline
	e.aside(nil, workPipeline, func(*sched.Worker) (err error) {
		pipe, err = e.dev.Pipeline(name, code, layout)
		return err
	}, func(err error) {
		c.pipe, c.err, c.done = pipe, err, true
		e.noteRefused(c)
		waiting := c.waiting
		c.waiting = nil
		for _, l := range waiting {
			e.resume(l)
		}
		then := c.then
		c.then = nil
		for _, f := range then {
			f()
		}
	})
}

// ready reports whether all pipelines of a plan are made; the lane waits for
// the first that is not.
func (e *Executor) ready(l *Lane, p *planned) (wait bool, err error) {
	e.refresh(p)
	for _, c := range p.pipes {
		e.compile(c)
	}
	for i, c := range p.pipes {
		if !c.done {
			c.waiting = append(c.waiting, l)
			return true, nil
		}
		if refused(c.err) {
			return false, c.err
		}
		if c.err != nil {
			return false, &wire.Fault{Kind: wire.Internal,
				Err: fmt.Errorf("make the pipeline of kernel %s: %w", p.Steps[i].Kernel.Name, c.err)}
		}
	}
	return false, nil
}
