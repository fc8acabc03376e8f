package mesh

import (
	"fmt"
	"slices"

	"nxvk/gen/exec/devcopy"
	"nxvk/ops"
)

// maxRounds bounds the rounds that a mesh remembers although not all of its ranks have ended them.
const maxRounds = 1024

// roundKey names a round: the number that a run gives, or else which eager collective of its session it is.
type roundKey struct{ named, turn uint64 }

// meeting is a round of all ranks.
type meeting struct {
	mesh  *mesh
	key   roundKey
	ended []error         // by rank; nil where its round goes on
	calls []*call         // by sequence and group, those that are not complete
	fars  map[string]*far // by farKey, of groups with ranks of other nodes
}

// Round is the part of one rank in a round.
type Round struct {
	place *Place
	key   roundKey
	begun int // collectives so far
	over  bool
}

// Party is what a rank does in a collective. Its methods are called on the goroutine of the Executor of its
// session.
type Party interface {
	Ahead() bool                                        // whether Met is called
	Met()                                               // all ranks have entered
	Send(chunk int, deliver func(devcopy.Chunk, error)) // sends the operand, in chunks of so many bytes
	Take(devcopy.Chunk)                                 // of the result
	Fail(error)                                         // ends the collective; the first error counts
	Device() Device                                     // nil where the operand or the result is on the host
	Kernel() Kernel                                     // nil where no kernel of the device passes the operand on
}

// Begin begins a round: one with a number that the other ranks use, too, or the next one without.
func (p *Place) Begin(named uint64) *Round {
	r := &Round{place: p, key: roundKey{named: named}}
	if named == 0 {
		p.mesh.all.mu.Lock()
		p.turn++
		r.key.turn = p.turn
		p.mesh.all.mu.Unlock()
	}
	return r
}

// Rank returns the rank whose part it is.
func (r *Round) Rank() int { return r.place.rank }

// meeting returns the round of all ranks.
func (m *mesh) meeting(key roundKey) *meeting {
	mt := m.rounds[key]
	if mt == nil {
		mt = &meeting{mesh: m, key: key, ended: slices.Clone(m.lost)}
		m.rounds[key] = mt
		m.order = append(m.order, key)
		m.trim()
	}
	return mt
}

// trim forgets the oldest rounds in which nobody waits, where there are many.
func (m *mesh) trim() {
	for i := 0; len(m.order) > maxRounds && i < len(m.order); {
		mt := m.rounds[m.order[i]]
		if mt != nil && mt.busy() {
			i++
			continue
		}
		delete(m.rounds, m.order[i])
		m.order = slices.Delete(m.order, i, i+1)
	}
}

// busy reports whether a collective of the round goes on.
func (mt *meeting) busy() bool {
	if len(mt.calls) > 0 {
		return true
	}
	for _, f := range mt.fars {
		if f.call != nil && !f.over() {
			return true
		}
	}
	return false
}

// Next returns the number of the next collective of the round. All ranks begin theirs in the same order; they may enter
// them in any order.
func (r *Round) Next() (seq int) {
	seq = r.begun
	r.begun++
	return seq
}

// Enter has a rank take part in a collective of the round. err is why it cannot: then the others fail.
func (r *Round) Enter(seq int, in *ops.Instr, t ops.Type, party Party, err error) *Entry {
	m := r.place.mesh
	var after actions
	m.all.mu.Lock()
	e := m.meeting(r.key).enter(r.place, seq, in, t, party, err, &after)
	m.all.mu.Unlock()
	after.run()
	return e
}

// enter finds the call of a rank's group, or begins it.
func (mt *meeting) enter(p *Place, seq int, in *ops.Instr, t ops.Type, party Party, err error, after *actions) *Entry {
	group := in.Attrs[0]
	at := slices.Index(group, p.rank)
	switch {
	case err != nil:
		err = named(p.rank, err)
	case at < 0:
		err = wrong("rank %d is not in its own group %v", p.rank, group)
	case slices.Max(group) >= p.size:
		err = wrong("rank %d names the group %v, the mesh has %d ranks", p.rank, group, p.size)
	}
	c := mt.find(seq, group)
	if c == nil {
		c = newCall(mt, seq, in, t)
		mt.calls = append(mt.calls, c)
		if at >= 0 && mt.mesh.spans(group) {
			mt.far(seq, group).join(c, after)
		}
	}
	if err == nil && c.far != nil {
		err = c.far.err
	}
	if err == nil {
		err = mt.refusal(c, p.rank, in, t)
	}
	m := member{place: p, at: at, party: party, device: party.Device(), ahead: party.Ahead()}
	if m.kernel = party.Kernel(); m.kernel != nil {
		m.port, m.reach = m.kernel.Port(), m.kernel.Reach()
	}
	c.parties = append(c.parties, m)
	switch {
	case c.failed != nil:
		m.tell(after, func() { party.Fail(c.failed) }, func() {})
	case err != nil:
		for _, other := range mt.clashing(c) {
			other.fail(err, after)
		}
		c.fail(err, after)
	case len(c.parties) < c.here:
		if c.early() && m.kernel == nil { // this is the goroutine of the rank
			c.parties[len(c.parties)-1].sent = true
			after.add(func() { c.sendOperand(m) })
		}
	case c.far != nil:
		c.far.complete(after)
	default:
		c.begin(after)
	}
	if len(c.parties) == c.here && c.far == nil || c.failed != nil && len(c.parties) == c.here {
		mt.drop(c)
	}
	return &Entry{call: c, at: at}
}

// refusal is why a call cannot be what a rank asks for.
func (mt *meeting) refusal(c *call, rank int, in *ops.Instr, t ops.Type) error {
	if err := c.compare(rank, in, t); err != nil {
		return err
	}
	if err := mt.clash(c, rank, in); err != nil {
		return err
	}
	for _, other := range c.group {
		if err := mt.ended[other]; err != nil && !c.has(other) {
			return err
		}
	}
	return nil
}

// named says whose error it is, where the error does not.
func named(rank int, err error) error {
	if isNamed(err) {
		return err
	}
	return failed("rank %d of the mesh: %w", rank, err)
}

func (mt *meeting) find(seq int, group []int) *call {
	for _, c := range mt.calls {
		if c.seq == seq && slices.Equal(c.group, group) {
			return c
		}
	}
	return nil
}

// clashing lists the calls of other groups that have a rank of this one, at the same place of the round.
func (mt *meeting) clashing(c *call) (list []*call) {
	for _, o := range mt.calls {
		if o != c && o.seq == c.seq && slices.ContainsFunc(o.group, func(r int) bool { return slices.Contains(c.group, r) }) {
			list = append(list, o)
		}
	}
	return list
}

// clash is the error of ranks that do not agree on their group.
func (mt *meeting) clash(c *call, rank int, in *ops.Instr) error {
	for _, o := range mt.clashing(c) {
		return wrong("rank %d asks for %v among ranks %v, rank %d for %v among ranks %v: all ranks of a group name it alike",
			rank, in.Op, c.group, o.parties[0].place.rank, o.in.Op, o.group)
	}
	return nil
}

func (mt *meeting) drop(c *call) {
	mt.calls = slices.DeleteFunc(mt.calls, func(o *call) bool { return o == c })
}

// End ends the round of a rank. Collectives of others that need it fail. A nil Round has nothing to end.
func (r *Round) End(cause error) {
	if r == nil || r.over {
		return
	}
	r.over = true
	p := r.place
	m := p.mesh
	err := failed("rank %d has ended its part without this collective: all ranks of a mesh carry out the same ones", p.rank)
	if cause != nil {
		err = named(p.rank, cause)
	}
	var after actions
	m.all.mu.Lock()
	if m.places[p.rank] == p {
		m.meeting(r.key).end(p.rank, err, &after)
		m.tellAll(Notice{Where: Where{Named: r.key.named, Turn: r.key.turn}, Event: Ended, Rank: p.rank, Err: err}, &after)
	}
	m.all.mu.Unlock()
	after.run()
}

// end fails what waits for a rank.
func (mt *meeting) end(rank int, err error, after *actions) {
	if mt.ended[rank] == nil {
		mt.ended[rank] = err
	}
	for _, c := range slices.Clone(mt.calls) {
		if slices.Contains(c.group, rank) {
			c.fail(err, after)
		}
	}
	if !slices.Contains(mt.ended, nil) {
		delete(mt.mesh.rounds, mt.key)
		mt.mesh.order = slices.DeleteFunc(mt.mesh.order, func(k roundKey) bool { return k == mt.key })
	}
}

// describe is what a rank asks for, in words.
func describe(in *ops.Instr, t ops.Type) string {
	if len(in.Attrs) > 1 {
		return fmt.Sprintf("%v by %v of %v", in.Op, in.Op.Info().Attrs[1].Names[in.Attrs[1][0]], t)
	}
	return fmt.Sprintf("%v of %v", in.Op, t)
}
