package tile

import (
	"fmt"

	"nxvk/shaders"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
)

// Shader is a kernel for matrix hardware, of package shaders, with code in the place of functions that give a number.
type Shader struct {
	Target         *lowering.Target
	Name           string
	Spec           []uint32 // the specialisation constants, the first of which is the number of invocations
	Buffers, Words int      // its parameters: addresses of buffers, then words
}

// Functions write the code in the place of functions; each ends with Give.
type Functions map[spirv.Called]func(*codegen.Emitter) error

// Give ends the code of a function with what it gives.
func Give(e *codegen.Emitter, v kernel.Value) {
	e.StoreShared(e.Shared(e.Type(v), 1), e.Int(scalar.U32, 0), v)
}

// Bytes is the size of its own parameters.
func (s *Shader) Bytes() int { return 8*s.Buffers + 4*s.Words }

// Describe is the key of the kernel without the code.
func (s *Shader) Describe() string { return fmt.Sprint(s.Name, " ", shaders.Hash(s.Name), " ", s.Spec) }

// Step is a step with the kernel, whose buffers are args and then those of the code; its own words are not filled. code may
// be nil.
func (s *Shader) Step(args []lowering.Arg, code *codegen.Program, f Functions) (step lowering.Step, err error) {
	step.Args = args
	if code == nil {
		step.Push = make([]byte, s.Bytes())
		step.Kernel, err = s.plain()
		return step, err
	}
	for _, b := range code.Buffers {
		step.Args = append(step.Args, lowering.Arg{Ref: b.Ref, Access: b.Access})
	}
	head, size, fixed := s.room(code)
	step.Push = make([]byte, size)
	step.Lits = code.Fill(step.Push, head, fixed)
	step.Bytes = code.Bytes
	step.Kernel, err = s.spliced(code, f, head, size, fixed)
	return step, err
}

// room is where the parameters of the code begin in the push constants, and how long these are. With fixed, the
// code has its numbers as constants.
func (s *Shader) room(code *codegen.Program) (head, size int, fixed bool) {
	head = (s.Bytes() + 8*len(code.Buffers) + 7) / 8 * 8
	for _, fixed = range []bool{false, true} {
		size = head + codegen.PushSize(s.Target, code, fixed) - codegen.ParamsAt(s.Target, code)
		if size <= s.Target.PushBytes() {
			break
		}
	}
	return head, size, fixed
}

// HasRoom reports whether the kernel has room for the parameters of the code.
func (s *Shader) HasRoom(code *codegen.Program) bool {
	_, size, _ := s.room(code)
	return size <= s.Target.PushBytes() && s.Buffers+len(code.Buffers) <= fusion.MaxBuffers
}

// plain is the kernel as it is.
func (s *Shader) plain() (*lowering.Kernel, error) {
	if k, ok := codegen.CompiledKernels.Get(s.Describe()); ok {
		return k, nil
	}
	code, err := shaders.Code(s.Name)
	if err != nil {
		return nil, err
	}
	return codegen.CompiledKernels.Put(s.Describe(), s.kernelOf(code, s.Buffers, s.Bytes())), nil
}

// kernelOf is a kernel of some code.
func (s *Shader) kernelOf(code []uint32, buffers, push int) *lowering.Kernel {
	return &lowering.Kernel{Name: codegen.HashName(code) + " " + s.Describe(), Code: code, Buffers: buffers, PushBytes: push, Addresses: true,
		Spec: s.Spec, Local: [3]uint32{s.Spec[0], 1, 1}, SubgroupSize: s.Target.SubgroupSize}
}

// spliced is the kernel with the code of a program, from the caches or made.
func (s *Shader) spliced(p *codegen.Program, f Functions, at, push int, fixed bool) (*lowering.Kernel, error) {
	splice := func() ([]uint32, []*kernel.Kernel, error) {
		base, err := shaders.Code(s.Name)
		if err != nil {
			return nil, nil, err
		}
		return s.splice(base, p, f, at, fixed)
	}
	key := codegen.FullKey(s.Target, p, fixed)
	if k, ok := codegen.CompiledKernels.Get(key); ok {
		codegen.VerifyHit(key, k, func() ([]uint32, error) {
			code, _, err := splice()
			return code, err
		})
		return k, nil
	}
	if k := codegen.FromArchive(s.Target, key); k != nil {
		k.Name += " " + s.Describe()
		return codegen.CompiledKernels.Put(key, k), nil
	}
	code, irs, err := splice()
	if err != nil {
		return nil, err
	}
	k := s.kernelOf(code, s.Buffers+len(p.Buffers), push)
	codegen.Dump(k, irs...)
	codegen.ToArchive(s.Target, key, k)
	return codegen.CompiledKernels.Put(key, k), nil
}

// splice puts the code of functions into the kernel.
func (s *Shader) splice(base []uint32, p *codegen.Program, f Functions, at int, fixed bool) (code []uint32, list []*kernel.Kernel, err error) {
	irs := map[spirv.Called]*kernel.Kernel{}
	for c, body := range f {
		q := *p
		q.Body = body
		k, err := codegen.Build(s.Target, &q, fixed)
		if err != nil {
			return nil, nil, err
		}
		irs[c], list = k, append(list, k)
	}
	code = spirv.SpliceCalls(base, func(c spirv.Called) *kernel.Kernel { return irs[c] }, s.Buffers, at, codegen.SPIRVOptions(s.Target))
	return code, list, nil
}
