package kernel

import (
	"fmt"

	"nxvk/synth/scalar"
)

// Verify reports whether a kernel is valid: every value is defined once and
// before its uses, types fit, and indices are within what is declared.
func Verify(k *Kernel) error {
	v := &verifier{k: k, defined: make([]bool, len(k.Types)), scope: make([]bool, len(k.Types))}
	if k.Local[0] == 0 || k.Local[1] == 0 || k.Local[2] == 0 {
		return fmt.Errorf("kernel %q has an empty workgroup", k.Name)
	}
	if size := k.Local[0] * k.Local[1] * k.Local[2]; k.SubgroupSize > 64 || k.SubgroupSize > 0 && size%k.SubgroupSize != 0 {
		return fmt.Errorf("kernel %q: a workgroup of %d is not cut into subgroups of %d", k.Name, size, k.SubgroupSize)
	}
	for i, p := range k.Params {
		if p.Type == scalar.Bool || p.Offset%TypeSize(p.Type) != 0 {
			return fmt.Errorf("kernel %q: parameter %d is malformed", k.Name, i)
		}
	}
	for i := range k.Head {
		if k.Head[i].Op > Builtin {
			return fmt.Errorf("kernel %q: instruction %d cannot stand before the body", k.Name, i)
		}
	}
	head := Block{Insts: k.Head}
	if err := v.block(&head, nil, false); err != nil {
		return fmt.Errorf("kernel %q: %w", k.Name, err)
	}
	for i := range k.Head {
		v.enter(k.Head[i].Res)
	}
	if err := v.block(&k.Body, nil, true); err != nil {
		return fmt.Errorf("kernel %q: %w", k.Name, err)
	}
	return nil
}

type verifier struct {
	k       *Kernel
	defined []bool // anywhere
	scope   []bool // may be used here
}

func (v *verifier) enter(vs []Value) {
	for _, x := range vs {
		v.scope[x] = true
	}
}

func (v *verifier) define(vs []Value) error {
	for _, x := range vs {
		if int(x) >= len(v.defined) || v.defined[x] {
			return fmt.Errorf("v%d is defined twice or out of range", x)
		}
		v.defined[x] = true
	}
	v.enter(vs)
	return nil
}

func (v *verifier) use(vs []Value) error {
	for _, x := range vs {
		if x < 0 || int(x) >= len(v.scope) || !v.scope[x] {
			return fmt.Errorf("v%d is used where it is not defined", x)
		}
	}
	return nil
}

// block checks a block and closes its scope. uniform says whether all
// invocations of a workgroup run it together.
func (v *verifier) block(b *Block, want []scalar.Type, uniform bool) error {
	if err := v.define(b.Params); err != nil {
		return err
	}
	for i := range b.Insts {
		in := &b.Insts[i]
		if err := v.inst(in, uniform); err != nil {
			return err
		}
		if err := v.define(in.Res); err != nil {
			return err
		}
	}
	if err := v.use(b.Yield); err != nil {
		return err
	}
	if err := v.types(b.Yield, want); err != nil {
		return fmt.Errorf("yield: %w", err)
	}
	v.leave(b.Params)
	for i := range b.Insts {
		v.leave(b.Insts[i].Res)
	}
	return nil
}

func (v *verifier) leave(vs []Value) {
	for _, x := range vs {
		v.scope[x] = false
	}
}

func (v *verifier) types(vs []Value, want []scalar.Type) error {
	if len(vs) != len(want) {
		return fmt.Errorf("%d values where %d are due", len(vs), len(want))
	}
	for i, x := range vs {
		if v.k.Types[x] != want[i] {
			return fmt.Errorf("v%d is %s, must be %s", x, v.k.Types[x], want[i])
		}
	}
	return nil
}

func (v *verifier) of(vs []Value) []scalar.Type {
	t := make([]scalar.Type, len(vs))
	for i, x := range vs {
		t[i] = v.k.Types[x]
	}
	return t
}
