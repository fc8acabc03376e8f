package spirv

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrForeign marks code that this program did not write and does not accept.
var ErrForeign = errors.New("SPIR-V is not accepted")

// Interface is what a compute shader says of itself.
type Interface struct {
	Local        [3]uint32
	Bindings     map[uint32]bool // of set 0
	Capabilities map[uint32]bool
	ByGroup      bool // it looks at the number of its workgroup
	Doubles      bool
}

// Numbers of the specification that only foreign code has.
const (
	headerWords    = 5
	maxForeign     = 1 << 24 // words
	maxForeignIDs  = 1 << 22
	minForeign     = 0x00010000
	maxVersion     = 0x00010600
	glCompute      = 5
	localSize      = 17
	decBuiltIn     = 11
	decBinding     = 33
	decSet         = 34
	builtWorkgroup = 26
)

// accepted are the capabilities that foreign code may ask for: arithmetic, and
// nothing that reaches beyond its buffers.
var accepted = map[uint32]string{
	0: "Matrix", 1: "Shader", capFloat64: "Float64", 11: "Int64", 22: "Int16", 39: "Int8", capFloat16: "Float16",
	4433: "StorageBuffer16BitAccess", 4448: "StorageBuffer8BitAccess",
	61: "GroupNonUniform", 62: "GroupNonUniformVote", 63: "GroupNonUniformArithmetic", 64: "GroupNonUniformBallot",
	65: "GroupNonUniformShuffle",
}

// Words reads the words of a SPIR-V file.
func Words(data []byte) ([]uint32, error) {
	if len(data) < 4*headerWords || len(data)%4 != 0 {
		return nil, fmt.Errorf("%w: %d bytes are no module", ErrForeign, len(data))
	}
	if len(data) > 4*maxForeign {
		return nil, fmt.Errorf("%w: it has %d bytes, the most are %d", ErrForeign, len(data), 4*maxForeign)
	}
	code := make([]uint32, len(data)/4)
	for i := range code {
		code[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return code, nil
}

// Inspect reads the interface of a foreign module and holds it to its structure:
// header, lengths of instructions, ids below the bound, one compute shader
// called main. It does not prove that a driver survives the code.
func Inspect(code []uint32) (*Interface, error) {
	if len(code) < headerWords || code[0] != magic {
		return nil, fmt.Errorf("%w: it does not begin with the magic number of SPIR-V", ErrForeign)
	}
	if v := code[1]; v < minForeign || v > maxVersion || v&0xff0000ff != 0 {
		return nil, fmt.Errorf("%w: version %#x is not from 1.0 to 1.6", ErrForeign, v)
	}
	if code[3] == 0 || code[3] > maxForeignIDs {
		return nil, fmt.Errorf("%w: it has %d ids, the most are %d", ErrForeign, code[3], maxForeignIDs)
	}
	i := inspector{bound: code[3], out: &Interface{Bindings: map[uint32]bool{}, Capabilities: map[uint32]bool{}}}
	for at := headerWords; at < len(code); {
		n, op := int(code[at]>>16), code[at]&0xffff
		if n == 0 || at+n > len(code) {
			return nil, fmt.Errorf("%w: the instruction at word %d is cut off", ErrForeign, at)
		}
		if err := i.see(op, code[at+1:at+n]); err != nil {
			return nil, err
		}
		at += n
	}
	return i.out, i.complete()
}

// inspector gathers what the instructions of a module say.
type inspector struct {
	bound     uint32
	out       *Interface
	entry     uint32 // the function main
	functions int
	open      int
}

func (i *inspector) see(op uint32, args []uint32) error {
	switch op {
	case opCapability:
		if len(args) < 1 || accepted[args[0]] == "" {
			return fmt.Errorf("%w: it asks for capability %v", ErrForeign, args)
		}
		i.out.Capabilities[args[0]] = true
		i.out.Doubles = i.out.Doubles || args[0] == capFloat64
	case opEntryPoint:
		return i.entryPoint(args)
	case opExecutionMode:
		if len(args) == 5 && args[1] == localSize {
			i.out.Local = [3]uint32(args[2:5])
		}
	case opDecorate:
		return i.decorate(args)
	case opFunction:
		i.functions++
		i.open++
		if len(args) != 4 || args[1] >= i.bound {
			return fmt.Errorf("%w: a function is malformed", ErrForeign)
		}
	case opFunctionEnd:
		i.open--
	}
	return nil
}

func (i *inspector) entryPoint(args []uint32) error {
	if len(args) < 3 || args[0] != glCompute {
		return fmt.Errorf("%w: an entry point is no compute shader", ErrForeign)
	}
	if i.entry != 0 {
		return fmt.Errorf("%w: it has two entry points", ErrForeign)
	}
	if args[2] != 'm'|'a'<<8|'i'<<16|'n'<<24 || len(args) < 4 || args[3] != 0 {
		return fmt.Errorf("%w: its entry point is not called main", ErrForeign)
	}
	if i.entry = args[1]; i.entry == 0 || i.entry >= i.bound {
		return fmt.Errorf("%w: its entry point is id %d of %d", ErrForeign, i.entry, i.bound)
	}
	return nil
}

func (i *inspector) decorate(args []uint32) error {
	if len(args) < 2 || args[0] >= i.bound {
		return fmt.Errorf("%w: a decoration is malformed", ErrForeign)
	}
	if len(args) < 3 {
		return nil
	}
	switch args[1] {
	case decBinding:
		i.out.Bindings[args[2]] = true
	case decSet:
		if args[2] != 0 {
			return fmt.Errorf("%w: it uses descriptor set %d, there is only 0", ErrForeign, args[2])
		}
	case decBuiltIn:
		i.out.ByGroup = i.out.ByGroup || args[2] == builtWorkgroup
	}
	return nil
}

func (i *inspector) complete() error {
	size := i.out.Local[0] * i.out.Local[1] * i.out.Local[2]
	switch {
	case i.entry == 0:
		return fmt.Errorf("%w: it has no entry point", ErrForeign)
	case i.functions == 0 || i.open != 0:
		return fmt.Errorf("%w: it has no whole function", ErrForeign)
	case size == 0 || size > 1024:
		return fmt.Errorf("%w: its workgroups are %v", ErrForeign, i.out.Local)
	}
	return nil
}
