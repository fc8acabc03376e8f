package chain

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"nxvk/gen/exec"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/gen/sample"
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
	at    uint64 // the clock of Chains at its latest use
	err   error
	name  string
	code  []uint32
	about *spirv.Interface
	pipe  *kernels.Kernel
	lag   lag

	feed   *feed.Feed // of the session that defined it
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

// Chains dispatches the shaders of sessions. It is for the goroutine of the Executor.
type Chains struct {
	e     exec.Services
	allow bool   // clients may bring shaders
	clock uint64 // of uses
}

// New returns what dispatches shaders by an Executor, and takes their definitions from its
// streams. allow says whether clients may bring any.
func New(e *exec.Executor, allow bool) *Chains {
	c := &Chains{e: e.Services(), allow: allow}
	c.e.SetDefiner(c)
	return c
}

// shaders are those of a session, by key.
type shaders map[string]*shader

type shadersKey struct{}

func shadersOf(q *exec.Queue) shaders {
	return q.Above(shadersKey{}, func() exec.Ender { return shaders{} }).(shaders)
}

// End lets go of all.
func (m shaders) End() {
	for _, s := range m {
		s.end()
	}
	clear(m)
}

// Define keeps foreign code under a key.
func (c *Chains) Define(q *exec.Queue, in *wire.Instr) {
	m := shadersOf(q)
	if _, have := m[in.Key]; have {
		return
	}
	if len(m) >= maxShaders {
		m.evict()
	}
	c.clock++
	s := &shader{at: c.clock}
	m[in.Key] = s
	switch {
	case !c.allow:
		s.err = &wire.Fault{Kind: wire.Unsupported, Err: fmt.Errorf(
			"this node takes no shaders from clients; its owner can start it with --allow-shaders")}
	case c.e.Device() == nil:
		s.err = &wire.Fault{Kind: wire.Unsupported, Err: fmt.Errorf("the host device runs no shaders")}
	default:
		s.feed = c.e.Feed(q)
		s.err = s.load(in.Shader)
	}
}

// evict lets go of a quarter of the shaders, those used least recently.
func (m shaders) evict() {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Compare(m[a].at, m[b].at) })
	for _, key := range keys[:max(1, len(keys)/4)] {
		m[key].end()
		delete(m, key)
	}
}

// Forget lets go of shaders that the session has no use for.
func (c *Chains) Forget(q *exec.Queue, keys []string) {
	m := shadersOf(q)
	for _, key := range keys {
		if s := m[key]; s != nil {
			s.end()
			delete(m, key)
		}
	}
}

// end lets go of the pipeline: the session has no use for the shader.
func (s *shader) end() {
	if s.pipe != nil {
		s.pipe.Release()
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

// Chain takes the steps of a request, after everything that the session asked
// for before.
func (c *Chains) Chain(q *exec.Queue, r *wire.Chain, done func(sample.Rows, error)) {
	var failed error // of the probes
	c.e.Do(q, func(q *exec.Queue) (wait queue.Wait) {
		s, wait, err := c.readyShader(q, r)
		if err == nil {
			err = failed
		}
		switch {
		case wait != 0:
			return wait
		case err != nil:
			done(sample.Rows{}, err)
			return 0
		case s.lag == lagUnknown && r.Correct:
			c.probeLag(s, r, func(err error) {
				failed = err
				c.e.Resume(q)
			})
			return queue.ForStatus
		}
		c.stepAndCorrect(s, r, done)
		return 0
	})
}

// ShaderInfo is what calls have told of a shader.
type ShaderInfo struct {
	Tried bool // two steps have told whether it lags; a call with Correct has them taken
	Lags  bool // its log density is that of the position before the step
}

// Shader describes a shader of the session, after everything that the session asked for
// before.
func (c *Chains) Shader(q *exec.Queue, key string, done func(ShaderInfo, error)) {
	c.e.Do(q, func(q *exec.Queue) queue.Wait {
		s := shadersOf(q)[key]
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

// stepAndCorrect takes the steps, and one more where the densities lag.
func (c *Chains) stepAndCorrect(s *shader, r *wire.Chain, done func(sample.Rows, error)) {
	if s.lag != lagOne || !r.Correct {
		c.steps(s, r, done)
		return
	}
	more := *r
	more.K++
	c.steps(s, &more, func(late sample.Rows, err error) {
		if err != nil {
			done(late, err)
			return
		}
		row := r.D * r.Type.Size()
		rows := sample.Rows{Q: trim(late.Q, r.N, r.K, row, 0), P: trim(late.P, r.N, r.K, row, 0),
			Grad: trim(late.Grad, r.N, r.K, row, 0), LogP: trim(late.LogP, r.N, r.K, r.Type.Size(), 1)}
		late.Free()
		done(rows, nil)
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
func (c *Chains) readyShader(q *exec.Queue, r *wire.Chain) (s *shader, wait queue.Wait, err error) {
	s = shadersOf(q)[r.Shader]
	switch {
	case s == nil:
		return nil, 0, unknownShader(r.Shader)
	case s.err != nil:
		return nil, 0, s.err
	case c.e.Lost() != nil:
		return nil, 0, c.e.Lost()
	}
	if err := checkChain(r, s.about, c.mostBound()); err != nil {
		return nil, 0, &wire.Fault{Kind: wire.BadArgument, Err: err}
	}
	if s.pipe == nil {
		s.pipe = c.e.Foreign(s.name, s.code, vulkan.Layout{Buffers: 7, PushBytes: pushSize(r), Whole: true})
	}
	c.clock++
	s.at = c.clock
	wait, err = c.e.Ready(q, s.pipe)
	if wait != 0 {
		return nil, wait, nil
	}
	if err != nil {
		return nil, 0, &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf("the driver refuses the shader: %w", err)}
	}
	return s, 0, nil
}

// checkChain compares a request with the shader: a buffer that is too short is
// read beyond its end. One that is longer than most bytes cannot be bound.
func checkChain(r *wire.Chain, about *spirv.Interface, most uint64) error {
	switch {
	case r.D > MaxChainDim || uint32(r.D) > about.Local[0]:
		return fmt.Errorf("%d parameters; a shader of workgroups of %d has at most %d", r.D, about.Local[0], min(MaxChainDim, about.Local[0]))
	case r.K > maxChainSteps/max(1, r.N):
		return fmt.Errorf("%d steps of %d instances; a call has at most %d rows", r.K, r.N, maxChainSteps)
	case r.N > 1 && !about.ByGroup:
		return fmt.Errorf("%d instances; the shader does not read gl_WorkGroupID, so it serves one instance a call", r.N)
	case (r.Type == ops.F64) != about.Doubles:
		return fmt.Errorf("the request is in %v, the shader is not", r.Type)
	case boundBytes(r, r.N) > most:
		return fmt.Errorf("%d instances of %d steps and %d numbers of data need %d bytes in one buffer, the device binds at most %d; take fewer steps or instances a call",
			r.N, r.K, r.NObs, boundBytes(r, r.N), most)
	}
	return nil
}

// mostBound is how many bytes of a buffer a shader can have.
func (c *Chains) mostBound() uint64 { return c.e.Device().Info().Limits.MaxStorageRange }

// boundBytes is the size of the longest buffer of n instances like those of a call, with
// one more step: see stepAndCorrect.
func boundBytes(r *wire.Chain, n int) uint64 {
	return uint64(n)*uint64(r.D)*uint64(r.Type.Size())*uint64(r.K+1) + uint64(n)*uint64(r.NObs)*uint64(r.Type.Size())
}

// pushSize is the size of the block K, n_obs, d, instances, step.
func pushSize(r *wire.Chain) int { return 16 + r.Type.Size() }

// probeLag finds out about the log density of a shader once: from one position
// it takes a step of size 0 and one of another size. Where both tell the same
// density, the row of a step has that of the position before it.
func (c *Chains) probeLag(s *shader, r *wire.Chain, done func(error)) {
	still := *r
	still.N, still.K, still.Step = 1, 1, 0
	still.Q, still.Extras = r.Q[:r.D*r.Type.Size()], r.Extras[:(r.NObs+r.D)*r.Type.Size()]
	momentum := make([]float64, r.D)
	for i := range momentum {
		momentum[i] = 1 + float64(i)/8 // not zero
	}
	still.P = sample.AppendFloats(nil, r.Type, momentum)
	moved := still
	moved.Step = 0x1p-6
	c.steps(s, &still, func(a sample.Rows, err error) {
		if err != nil {
			done(err)
			return
		}
		c.steps(s, &moved, func(b sample.Rows, err error) {
			if err == nil {
				s.lag = lagNone
				if string(a.LogP) == string(b.LogP) {
					s.lag = lagOne
					c.e.Log().Warn().Str("shader", s.name).Msg("the shader's log density lags by one step; it is corrected")
				}
				b.Free()
			}
			a.Free()
			done(err)
		})
	})
}

// dispatchSteps dispatches a chain and gives its rows.
func (c *Chains) dispatchSteps(s *shader, r *wire.Chain, done func(sample.Rows, error)) {
	if s.pipe.Gone() { // the shader has gone before its turn
		done(sample.Rows{}, unknownShader(s.name))
		return
	}
	row := r.N * r.K * r.Type.Size()
	sizes := [7]int{len(r.Q), len(r.P), len(r.Extras), row * r.D, row * r.D, row * r.D, row}
	inputs := [3][]byte{r.Q, r.P, r.Extras}
	args := make([]vulkan.Arg, 0, len(sizes))
	defer func() {
		for _, a := range args {
			a.Buffer.Free() // used again when the device is done
		}
	}()
	for i, n := range sizes {
		// A shader that does not write its results leaves the old content of the memory in
		// them.
		access, alloc := vulkan.Write, s.feed.Zeroed
		if i < len(inputs) {
			if access = vulkan.Read; n > 0 {
				alloc = s.feed.Alloc
			}
		}
		b, err := alloc(n)
		if err != nil {
			done(sample.Rows{}, c.e.DeviceError(err))
			return
		}
		args = append(args, vulkan.Arg{Buffer: b, Access: access})
		if i < len(inputs) {
			if err := s.feed.Upload(b, inputs[i]); err != nil {
				done(sample.Rows{}, c.e.DeviceError(err))
				return
			}
		}
	}
	if err := s.feed.Dispatch(s.pipe, args, chainPush(r), uint32(r.N)); err != nil {
		done(sample.Rows{}, c.e.DeviceError(err))
		return
	}
	sample.ReadRows(s.feed, args[3:], sizes[3:], false, done)
}

// chainPush is the block of numbers that a shader takes.
func chainPush(r *wire.Chain) []byte {
	b := make([]byte, 16, pushSize(r))
	instances := r.N
	if r.N == 1 && !r.Batch {
		instances = 0 // padding where there is but one
	}
	for i, n := range []int{r.K, r.NObs, r.D, instances} {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(n))
	}
	return sample.AppendFloats(b, r.Type, []float64{r.Step})
}
