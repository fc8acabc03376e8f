package scalar

import (
	"embed"
	"io/fs"
	"sync"
)

//go:embed lib/*.nxs
var texts embed.FS

// library is the functions and constants of all texts in lib.
type library struct {
	unit     *unit
	byName   map[string][]*function
	compiled sync.Map // instance → *Func: functions that run behind a branch
}

// instance is a function compiled by itself for one type and device.
type instance struct {
	f                               *function
	t                               Type
	precise, subnormals, nans, exp2 bool
	narrow                          bool
}

// loadLibrary parses the embedded texts, once.
var loadLibrary = sync.OnceValues(func() (lib *library, err error) {
	names, err := fs.Glob(texts, "lib/*.nxs")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range names {
		text, err := fs.ReadFile(texts, name)
		if err != nil {
			return nil, err
		}
		files[name] = string(text)
	}
	return parseLibrary(names, files)
})

// parseLibrary parses texts in the given order.
func parseLibrary(names []string, files map[string]string) (lib *library, err error) {
	defer catch(&err)
	lib = &library{unit: &unit{constants: map[string][]*constant{}}, byName: map[string][]*function{}}
	for _, name := range names {
		u := newParser(name, files[name]).unit()
		for _, f := range u.functions {
			lib.byName[f.name] = append(lib.byName[f.name], f)
		}
		for name, cs := range u.constants {
			lib.unit.constants[name] = append(lib.unit.constants[name], cs...)
		}
		lib.unit.functions = append(lib.unit.functions, u.functions...)
	}
	for _, cs := range lib.unit.constants {
		for _, c := range cs {
			lib.evaluate(c)
		}
	}
	return lib, nil
}

// evaluate computes the values of a constant, which may use literals only.
func (lib *library) evaluate(c *constant) {
	for _, e := range c.values {
		l := &lowering{lib: lib, src: c.src, b: newBuilder("", nil), dflt: c.typ}
		n := l.typed(e, c.typ)
		c.bits = append(c.bits, l.b.nodes[n].Bits)
	}
}

// constant finds a constant or table by name and type; where nothing is known
// of the type, the only one of the name.
func (lib *library) constant(name string, t Type) *constant {
	all := lib.unit.constants[name]
	if t == noType && len(all) == 1 {
		return all[0]
	}
	for _, c := range all {
		if c.typ == t {
			return c
		}
	}
	return nil
}

// find returns the function of a name that the types fit, and the type that its
// type parameter has. noType fits everything.
func (lib *library) find(name string, types []Type) (*function, Type) {
	var generic *function
	var bound Type
	for _, f := range lib.byName[name] {
		t, ok := f.fits(types)
		switch {
		case ok && f.generic == "":
			return f, noType
		case ok && generic == nil:
			generic, bound = f, t
		}
	}
	return generic, bound
}

// fits reports whether arguments of the given types can be passed, and the type
// that the type parameter then has.
func (f *function) fits(types []Type) (Type, bool) {
	t := noType
	if len(types) != len(f.params) {
		return t, false
	}
	for i, p := range f.params {
		switch {
		case types[i] == noType:
		case p.typ == f.generic && f.generic != "":
			if t != noType && t != types[i] {
				return t, false
			}
			t = types[i]
		case f.typeOf(p.typ, noType) != types[i]:
			return t, false
		}
	}
	switch {
	case t == noType:
	case f.bound == "float" && !t.Float(), f.bound == "int" && !t.Int():
		return t, false
	}
	return t, true
}

func (f *function) paramType(i int, t Type) Type { return f.typeOf(f.params[i].typ, t) }

// typeOf returns the type of the given name in the function's declaration.
func (f *function) typeOf(name string, t Type) Type {
	if name == f.generic && name != "" {
		return t
	}
	got, ok := typeNamed(name)
	if !ok {
		panic(at(f.src, f.pos, ErrType, "%s: unknown type %s", f.name, name))
	}
	return got
}
