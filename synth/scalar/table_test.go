package scalar

import (
	"testing"

	"nxvk/ops"
)

// classTypes are the types of computation of each class.
var classTypes = map[ops.Class][]Type{
	ops.Float:    {F32, F64},
	ops.Signed:   {I32, I64},
	ops.Unsigned: {U32, U64},
	ops.Complex:  {F32, F64}, // of the parts
}

// Every expression of the op table compiles for every type of its class, and
// has a result of that type or a truth value.
func TestCompilesOpTable(t *testing.T) {
	for o := ops.Op(0); o < ops.Count; o++ {
		info := o.Info()
		for class, types := range classTypes {
			for _, typ := range types {
				for _, code := range []ops.Code{info.Code, info.Identity} {
					expression := code.For(class)
					if expression == "" {
						continue
					}
					f, err := Compile(expression, typ, parts(class, typ), Env{})
					if err != nil {
						t.Errorf("%s of %s: %v", info.Name, typ, err)
					} else if r := f.Result(); r != typ && r != Bool {
						t.Errorf("%s of %s: result is %s", info.Name, typ, r)
					}
				}
			}
		}
	}
}

// parts are the operands of an expression of a class.
func parts(class ops.Class, typ Type) []Arg {
	args := operands(typ)
	if class == ops.Complex {
		for _, a := range args {
			args = append(args, Arg{a.Name + "i", typ})
		}
	}
	return args
}
