package explain

import (
	"maps"
	"slices"

	"nxvk/gen/exec/program"
	"nxvk/ops"
)

// memory follows the values of a program through its steps.
type memory struct {
	values map[ops.ID]*storage
	held   int64 // bytes of values that steps have made
	params int64 // bytes of parameters of the program that are still needed
}

// storage is the memory of a value and of its views.
type storage struct {
	bytes int64
	param bool // it belongs to whoever runs the program
	users int  // values that have it
}

// begin takes the parameters of the program.
func (m *memory) begin(params []ops.Result) {
	m.values = make(map[ops.ID]*storage)
	for _, p := range params {
		m.add(p.ID, &storage{bytes: int64(p.Type.Bytes()), param: true})
	}
}

// enter takes the parameters of a region, and returns a function that takes what is left of its values.
func (m *memory) enter(params []ops.Result) (leave func()) {
	before := maps.Clone(m.values)
	for _, p := range params {
		m.add(p.ID, &storage{bytes: int64(p.Type.Bytes())})
	}
	return func() {
		for _, id := range slices.Sorted(maps.Keys(m.values)) {
			if before[id] == nil {
				m.remove(id)
			}
		}
	}
}

func (m *memory) add(id ops.ID, s *storage) {
	if s.users++; s.users == 1 {
		*m.count(s) += s.bytes
	}
	m.values[id] = s
}

// count is the sum that counts a storage.
func (m *memory) count(s *storage) *int64 {
	if s.param {
		return &m.params
	}
	return &m.held
}

// step gives the results of a step their memory, and then takes that of the values which nothing
// needs any more. It sets what the part needs meanwhile. shares has the operands in whose memory results
// are, by the number of the result.
func (m *memory) step(part *Part, s *program.Step, shares map[int]int, temps []int64) {
	for i, o := range s.In.Outs {
		at := &storage{bytes: int64(o.Type.Bytes())}
		if of, shared := shares[i]; shared && s.In.Ins[of].Lit == nil {
			if of := m.values[s.In.Ins[of].ID]; of != nil {
				at = of
			}
		}
		m.add(o.ID, at)
	}
	part.Held, part.Params = m.held, m.params
	for _, n := range temps {
		part.Held += n
	}
	for _, id := range s.Last {
		m.remove(id)
	}
}

func (m *memory) remove(id ops.ID) {
	s := m.values[id]
	if s == nil {
		return
	}
	delete(m.values, id)
	if s.users--; s.users == 0 {
		*m.count(s) -= s.bytes
	}
}
