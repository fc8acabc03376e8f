package etf

import "fmt"

// Term is any Erlang term. Decoding yields exactly these Go types:
//
//	integer     int64, or *big.Int where 64 bits do not hold it
//	float       float64
//	atom        Atom
//	pid         Pid
//	reference   Ref
//	port        Port
//	fun         Fun, Export
//	tuple       Tuple
//	list        List, or ImproperList; the empty list is List(nil)
//	map         Map
//	binary      []byte, or *Binary or Lost where it is large
//	bitstring   Bitstring
//
// Encoding takes these and also bool, int, uint8, int32, uint32, uint64,
// float32, string (as a binary of its UTF-8 bytes), *big.Int of any size and
// [Outside].
type Term = any

// Atom is an Erlang atom.
type Atom string

// Pid names a process of any node.
type Pid struct {
	Node     Atom
	ID       uint32
	Serial   uint32
	Creation uint32
}

// Port names a port of any node.
type Port struct {
	Node     Atom
	ID       uint64
	Creation uint32
}

// RefWords is the largest number of words in a reference.
const RefWords = 5

// Ref is a reference or a process alias. It is comparable, so that it can be
// the key of a Go map; unused words are zero.
type Ref struct {
	Node     Atom
	Creation uint32
	Len      uint8
	Words    [RefWords]uint32
}

// Tuple is a tuple.
type Tuple []Term

// List is a proper list. A string of Latin-1 characters arrives as a List of
// int64 like any other list of integers.
type List []Term

// ImproperList is a list that ends in something other than the empty list.
// References with an alias arrive so: [alias | Ref].
type ImproperList struct {
	Items []Term
	Tail  Term
}

// Pair is one association of a Map.
type Pair struct {
	Key, Value Term
}

// Map is a map, in the order in which it was encoded. A slice, not a Go map:
// any term may be a key, also those that Go cannot compare.
type Map []Pair

// Get returns the value of the atom key.
func (m Map) Get(key Atom) (Term, bool) {
	for i := range m {
		if a, ok := m[i].Key.(Atom); ok && a == key {
			return m[i].Value, true
		}
	}
	return nil, false
}

// Bitstring is a binary whose last byte holds fewer than eight bits, the most
// significant ones of that byte.
type Bitstring struct {
	Bytes []byte
	Bits  uint8 // bits used in the last byte, 1 to 8
}

// Export is an external fun, fun Module:Function/Arity.
type Export struct {
	Module   Atom
	Function Atom
	Arity    uint8
}

// Fun is a closure. It cannot be called here; it is kept as its encoding so
// that it can be given back.
type Fun struct {
	Encoded []byte // without the tag
}

func (p Pid) String() string {
	return fmt.Sprintf("<%s.%d.%d>", p.Node, p.ID, p.Serial)
}

func (r Ref) String() string {
	return fmt.Sprintf("#Ref<%s.%v>", r.Node, r.Words[:min(int(r.Len), RefWords)])
}
