package exec

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth/spirv"
	"nxvk/vulkan"
)

// Foreign shaders take leapfrog steps of a density that somebody else has
// compiled, as eXMC does. A shader takes its
// buffers by binding: position, momentum, then data and the diagonal of the
// inverse mass matrix, and gives a row a step of positions, momenta, gradients,
// and log densities.

// MaxChainDim is how many parameters such a shader can have: one an invocation.
const MaxChainDim = 256

// maxChainSteps bounds the rows of one call, and so how long it takes.
const maxChainSteps = 1 << 20

// maxShaders bounds the shaders of a session: above it, those used least recently go.
const maxShaders = 1 << 10

// shader is foreign code of a session.
type shader struct {
	used
	err   error
	name  string
	code  []uint32
	about *spirv.Interface
	pipe  *compiled
	lag   lag

	feed   *feed // of the session that defined it
	queues map[chainKind]*chainQueue
}

// lag says whether a shader tells the log density of the position before the
// step in the row of the position after it, which is what it was known to get
// wrong.
type lag uint8

const (
	lagUnknown lag = iota
	lagNone
	lagOne
)

// defineShader keeps foreign code under a key.
func (e *Executor) defineShader(l *Lane, in *wire.Instr) {
	home := l.home()
	if _, have := home.shaders[in.Key]; have {
		return
	}
	if home.shaders == nil {
		home.shaders = make(map[string]*shader)
	}
	e.tick()
	evict(home.shaders, maxShaders, e.clock, nil, (*shader).end)
	s := &shader{used: used{e.clock}, feed: e.feed(l)}
	home.shaders[in.Key] = s
	switch {
	case !e.cfg.Shaders:
		s.err = &wire.Fault{Kind: wire.Unsupported, Err: fmt.Errorf(
			"this node takes no shaders from clients; its owner can start it with --allow-shaders")}
	case e.dev == nil:
		s.err = &wire.Fault{Kind: wire.Unsupported, Err: fmt.Errorf("the host device runs no shaders")}
	default:
		s.err = s.load(in.Shader)
	}
}

// end lets go of the pipeline: the session has no use for the shader.
func (s *shader) end() {
	if s.pipe != nil {
		s.pipe.holders--
	}
}

// load checks code and readies it.
func (s *shader) load(data []byte) (err error) {
	if s.code, err = spirv.Words(data); err == nil {
		s.about, err = spirv.Inspect(s.code)
	}
	if err == nil {
		for b := range s.about.Bindings {
			if b > 6 {
				err = fmt.Errorf("%w: it has binding %d, a chain has bindings 0 to 6", spirv.ErrForeign, b)
			}
		}
	}
	if err != nil {
		return &wire.Fault{Kind: wire.BadArgument, Err: err}
	}
	sum := sha256.Sum256(data)
	s.name = "foreign-" + hex.EncodeToString(sum[:16])
	return nil
}

// Rows is what a chain gives: for each instance and step, in this order. The bytes
// are valid until Release, which may be called from any goroutine.
type Rows struct {
	Q, P, Grad, LogP []byte
	Release          func() // may be nil
}

func (r *Rows) release() {
	if r.Release != nil {
		r.Release()
	}
}

// Chain takes the steps of a request, after everything that the session asked
// for before.
func (e *Executor) Chain(l *Lane, c *wire.Chain, done func(Rows, error)) {
	var failed error // of the probes
	e.Do(l, func(l *Lane) (wait queue.Wait) {
		s, wait, err := e.readyShader(l, c)
		if err == nil {
			err = failed
		}
		switch {
		case wait != 0:
			return wait
		case err != nil:
			done(Rows{}, err)
			return 0
		case s.lag == lagUnknown && c.Correct:
			e.probeLag(s, c, func(err error) {
				failed = err
				e.resume(l)
			})
			return queue.ForStatus
		}
		e.corrected(s, c, done)
		return 0
	})
}

// ShaderInfo is what calls have told of a shader.
type ShaderInfo struct {
	Tried bool // two steps have told whether it lags; a call with Correct has them taken
	Lags  bool // its log density is that of the position before the step
}

// Shader tells what is known of a shader of the session, after everything that
// the session asked for before.
func (e *Executor) Shader(l *Lane, key string, done func(ShaderInfo, error)) {
	e.Do(l, func(l *Lane) queue.Wait {
		s := l.home().shaders[key]
		switch {
		case s == nil:
			done(ShaderInfo{}, unknownShader(key))
		case s.err != nil:
			done(ShaderInfo{}, s.err)
		default:
			done(ShaderInfo{Tried: s.lag != lagUnknown, Lags: s.lag == lagOne}, nil)
		}
		return 0
	})
}

func unknownShader(key string) error {
	return &wire.Fault{Kind: wire.UnknownProgram, Err: fmt.Errorf("the session has no shader under the key %x; define it again", key)}
}

// corrected takes the steps, and one more where the densities lag.
func (e *Executor) corrected(s *shader, c *wire.Chain, done func(Rows, error)) {
	if s.lag != lagOne || !c.Correct {
		e.steps(s, c, done)
		return
	}
	more := *c
	more.K++
	e.steps(s, &more, func(r Rows, err error) {
		if err == nil {
			row := c.D * c.Type.Size()
			late := r
			r = Rows{Q: trim(r.Q, c.N, c.K, row, 0), P: trim(r.P, c.N, c.K, row, 0),
				Grad: trim(r.Grad, c.N, c.K, row, 0), LogP: trim(r.LogP, c.N, c.K, c.Type.Size(), 1)}
			late.release()
		}
		done(r, err)
	})
}

// trim takes k of k+1 rows of each of n instances, from one on.
func trim(data []byte, n, k, row, from int) []byte {
	out := make([]byte, 0, n*k*row)
	for i := range n {
		at := (i*(k+1) + from) * row
		out = append(out, data[at:at+k*row]...)
	}
	return out
}

// readyShader finds the shader of a request, compiled.
func (e *Executor) readyShader(l *Lane, c *wire.Chain) (s *shader, wait queue.Wait, err error) {
	s = l.home().shaders[c.Shader]
	switch {
	case s == nil:
		return nil, 0, unknownShader(c.Shader)
	case s.err != nil:
		return nil, 0, s.err
	case e.lost != nil:
		return nil, 0, e.lost
	}
	if err := checkChain(c, s.about, e.mostBound()); err != nil {
		return nil, 0, &wire.Fault{Kind: wire.BadArgument, Err: err}
	}
	if s.pipe == nil {
		s.pipe = e.pipeline(s.name, s.code, vulkan.Layout{Buffers: 7, PushBytes: pushSize(c), Whole: true})
		s.pipe.holders++
	}
	s.at = e.clock
	if !s.pipe.done {
		s.pipe.waiting = append(s.pipe.waiting, l)
		return nil, queue.ForKernel, nil
	}
	if s.pipe.err != nil {
		return nil, 0, &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf("the driver refuses the shader: %w", s.pipe.err)}
	}
	return s, 0, nil
}

// checkChain compares a request with the shader: a buffer that is too short is
// read beyond its end. One that is longer than most bytes cannot be bound.
func checkChain(c *wire.Chain, about *spirv.Interface, most uint64) error {
	switch {
	case c.D > MaxChainDim || uint32(c.D) > about.Local[0]:
		return fmt.Errorf("%d parameters; a shader of workgroups of %d has at most %d", c.D, about.Local[0], min(MaxChainDim, about.Local[0]))
	case c.K > maxChainSteps/max(1, c.N):
		return fmt.Errorf("%d steps of %d instances; a call has at most %d rows", c.K, c.N, maxChainSteps)
	case c.N > 1 && !about.ByGroup:
		return fmt.Errorf("%d instances; the shader does not look at the number of its workgroup and knows but one", c.N)
	case (c.Type == ops.F64) != about.Doubles:
		return fmt.Errorf("the request is in %v, the shader is not", c.Type)
	case boundBytes(c, c.N) > most:
		return fmt.Errorf("%d instances of %d steps and %d numbers of data need %d bytes in one buffer, the device binds at most %d; take fewer steps or instances a call",
			c.N, c.K, c.NObs, boundBytes(c, c.N), most)
	}
	return nil
}

// mostBound is how many bytes of a buffer a shader can have.
func (e *Executor) mostBound() uint64 { return e.dev.Info().Limits.MaxStorageRange }

// boundBytes are those of the longest buffer of n instances like those of a call, with
// a step more: see corrected.
func boundBytes(c *wire.Chain, n int) uint64 {
	return uint64(n)*uint64(c.D)*uint64(c.Type.Size())*uint64(c.K+1) + uint64(n)*uint64(c.NObs)*uint64(c.Type.Size())
}

// pushSize is the size of the block K, n_obs, d, instances, step.
func pushSize(c *wire.Chain) int { return 16 + c.Type.Size() }

// probeLag finds out about the log density of a shader once: from one position
// it takes a step of size 0 and one of another size. Where both tell the same
// density, the row of a step has that of the position before it.
func (e *Executor) probeLag(s *shader, c *wire.Chain, done func(error)) {
	still := *c
	still.N, still.K, still.Step = 1, 1, 0
	still.Q, still.Extras = c.Q[:c.D*c.Type.Size()], c.Extras[:(c.NObs+c.D)*c.Type.Size()]
	momentum := make([]float64, c.D)
	for i := range momentum {
		momentum[i] = 1 + float64(i)/8 // not zero
	}
	still.P = appendFloats(nil, c.Type, momentum)
	moved := still
	moved.Step = 0x1p-6
	e.steps(s, &still, func(a Rows, err error) {
		if err != nil {
			done(err)
			return
		}
		e.steps(s, &moved, func(b Rows, err error) {
			if err == nil {
				s.lag = lagNone
				if string(a.LogP) == string(b.LogP) {
					s.lag = lagOne
					e.cfg.Log.Warn().Str("shader", s.name).Msg("the shader's log density lags by one step; it is corrected")
				}
				b.release()
			}
			a.release()
			done(err)
		})
	})
}

// dispatchSteps dispatches a chain and gives its rows.
func (e *Executor) dispatchSteps(s *shader, c *wire.Chain, done func(Rows, error)) {
	if s.pipe.gone { // the shader has gone before its turn
		done(Rows{}, unknownShader(s.name))
		return
	}
	row := c.N * c.K * c.Type.Size()
	sizes := [7]int{len(c.Q), len(c.P), len(c.Extras), row * c.D, row * c.D, row * c.D, row}
	inputs := [3][]byte{c.Q, c.P, c.Extras}
	args := make([]vulkan.Arg, 0, len(sizes))
	defer func() {
		for _, a := range args {
			a.Buffer.Free() // used again when the device is done
		}
	}()
	for i, n := range sizes {
		// What a shader finds in its results, where it writes none, is what others left.
		access, alloc := vulkan.Write, s.feed.stream.Zeroed
		if i < len(inputs) {
			if access = vulkan.Read; n > 0 {
				alloc = func(n int) (*vulkan.Buffer, error) { return e.allocNow(s.feed, n) }
			}
		}
		b, err := alloc(n)
		if err != nil {
			done(Rows{}, e.deviceError(err))
			return
		}
		args = append(args, vulkan.Arg{Buffer: b, Access: access})
		if i < len(inputs) {
			if err := s.feed.stream.Upload(b, 0, inputs[i]); err != nil {
				done(Rows{}, e.deviceError(err))
				return
			}
		}
	}
	e.note(s.feed)
	e.Counters.Dispatches++
	if err := s.feed.stream.Dispatch(s.pipe.pipe, args, chainPush(c), uint32(c.N), 1, 1); err != nil {
		done(Rows{}, e.deviceError(err))
		return
	}
	e.rows(s.feed, args[3:], sizes[3:], false, done)
}

// chainPush is the block of numbers that a shader takes.
func chainPush(c *wire.Chain) []byte {
	b := make([]byte, 16, pushSize(c))
	instances := c.N
	if c.N == 1 && !c.Batch {
		instances = 0 // padding where there is but one
	}
	for i, n := range []int{c.K, c.NObs, c.D, instances} {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(n))
	}
	return appendFloats(b, c.Type, []float64{c.Step})
}

// rows reads the buffers of a chain back. What the device wrote is lent, not copied:
// of many chains it is megabytes. With poll done may be called before it returns.
func (e *Executor) rows(f *feed, args []vulkan.Arg, sizes []int, poll bool, done func(Rows, error)) {
	var backs []*vulkan.Readback
	release := func() {
		for _, b := range backs {
			b.Release()
		}
	}
	for i, a := range args {
		b, err := f.stream.Download(a.Buffer, 0, sizes[i])
		if err != nil {
			release()
			done(Rows{}, e.deviceError(err))
			return
		}
		backs = append(backs, b)
	}
	ticket, sent, err := e.send(f)
	if err != nil {
		release()
		done(Rows{}, e.deviceError(err))
		return
	}
	finish := func(err error) {
		if err != nil {
			release()
			done(Rows{}, e.deviceError(err))
			return
		}
		done(Rows{backs[0].Bytes(), backs[1].Bytes(), backs[2].Bytes(), backs[3].Bytes(), release}, nil)
	}
	// With lanes throttled, noting the end here could serve one that is being served.
	if poll && len(f.throttled) == 0 && e.soon(ticket) {
		finish(nil)
		if sent {
			e.completed(f, ticket)
		}
		return
	}
	if sent {
		e.watch(f, ticket)
	}
	e.dev.Notify(ticket, func(err error) { e.cfg.Post(func() { finish(err) }) })
}
