package lowering

import (
	"sync"

	"nxvk/fallback/sched"
	"nxvk/synth/simt"
)

// The host can execute kernels for a processor, with the same bits: kernels with IR many
// invocations at a time (package simt), and products of matrices and sums of rows
// by routines that keep the order of their kernels. To execute IR is slower than machine code, but
// there is no machine code to wait for; routines are quicker.

// Rounding is the way in which a device rounds a multiply-add of floats.
type Rounding uint8

// The ways of rounding.
const (
	Unlike Rounding = iota // the host does not compute as the device does
	Twice                  // the product, and then the sum
	Once                   // as one operation
)

// Host executes dispatches of a kernel on the host. buffers are those that the step of a
// plan names; each begins at a multiple of 8 bytes and ends at a whole word. push has no
// addresses. It tells what that cost, in elementary operations. w is the worker that
// executes them; it shares the processors with others.
type Host func(w *sched.Worker, buffers [][]byte, push []byte, grid [3]uint32) int

// HostCode is the form of a kernel that the host executes.
type HostCode struct {
	Routine Host     // hand-written code, which is quicker than the device; nil where there is none
	Rounds  Rounding // of the multiply-adds of the routine; Unlike where it has none
	ways    [Once + 1]struct {
		once sync.Once
		run  Host
	}
}

// Routine is hand-written code for one step of a plan, with the bits of its kernel. It gets the buffers of the step.
type Routine struct {
	Run    func(w *sched.Worker, buffers [][]byte)
	Rounds Rounding // of its multiply-adds; Unlike where it has none
}

// Routine returns what carries out a step on the host by hand-written code, with the bits of the device; nil where
// nothing does, or another step or instruction.
func (t *Target) Routine(s *Step) *Routine {
	if r := s.Routine; r != nil && t.CPU && t.Rounds != Unlike && (r.Rounds == Unlike || r.Rounds == t.Rounds) {
		return r
	}
	return nil
}

// HasRoutine reports whether the host has hand-written code for a step, which is quicker than the device.
func (t *Target) HasRoutine(s *Step) bool {
	return s.Covered || s.Does != nil || t.Routine(s) != nil || s.Kernel.hasRoutine()
}

func (k *Kernel) hasRoutine() bool { return k.Host != nil && k.Host.Routine != nil }

// OnHost returns a function that executes a kernel on the host with the bits of the
// device, or nil if the host cannot.
func (t *Target) OnHost(k *Kernel) Host {
	if t.Rounds == Unlike || !t.CPU || k.Host == nil {
		return nil
	}
	way := &k.Host.ways[t.Rounds]
	way.once.Do(func() {
		switch {
		case k.Host.Routine != nil && (k.Host.Rounds == Unlike || k.Host.Rounds == t.Rounds):
			way.run = k.Host.Routine
		case k.IR != nil:
			if code := simt.Compile(k.IR, t.Rounds == Once); code != nil {
				way.run = code.Run
			}
		}
	})
	return way.run
}

// Size is the approximate number of instructions of a kernel.
func (k *Kernel) Size() int {
	if k.IR == nil {
		return len(k.Code) / 5
	}
	return len(k.IR.Types)
}
