package wire

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// TestMeshOf: a mesh is of one node, or names the node of each rank.
func TestMeshOf(t *testing.T) {
	id := []byte("m")
	one, ok := meshOf(etf.Tuple{id, int64(1), int64(2)})
	if !ok || one.ID != "m" || one.Rank != 1 || one.Size != 2 || one.Nodes != nil {
		t.Errorf("%+v, %v", one, ok)
	}
	two, ok := meshOf(etf.Tuple{id, int64(1), etf.List{etf.Atom("a@b"), etf.Atom("c@d")}})
	if !ok || two.Rank != 1 || two.Size != 2 || !slices.Equal(two.Nodes, []string{"a@b", "c@d"}) {
		t.Errorf("%+v, %v", two, ok)
	}
	for _, bad := range []etf.Term{
		etf.Tuple{id, int64(2), etf.List{etf.Atom("a@b"), etf.Atom("c@d")}}, etf.Tuple{id, int64(0), etf.List{[]byte("a@b")}},
		etf.Tuple{id, int64(0), etf.List(nil)}, etf.Tuple{id, int64(0), etf.List{etf.Atom("")}}, etf.Tuple{id, int64(0)},
	} {
		if m, ok := meshOf(bad); ok {
			t.Errorf("%v is taken as %+v", bad, m)
		}
	}
}

// TestServerOf: a device server is of this node, or of a node that is named.
func TestServerOf(t *testing.T) {
	for _, c := range []struct {
		term         etf.Term
		server, node string
		ok           bool
	}{
		{etf.Atom("nxvk_1"), "nxvk_1", "", true},
		{etf.Tuple{etf.Atom("nxvk_1"), etf.Atom("a@b")}, "nxvk_1", "a@b", true},
		{etf.Atom(""), "", "", false},
		{etf.Tuple{etf.Atom("nxvk_1"), etf.Atom("")}, "", "", false},
		{etf.Tuple{etf.Atom("nxvk_1"), []byte("a@b")}, "", "", false},
		{etf.Tuple{etf.Atom(""), etf.Atom("a@b")}, "", "a@b", false},
		{int64(1), "", "", false},
	} {
		server, node, ok := serverOf(c.term)
		if server != c.server || node != c.node || ok != c.ok {
			t.Errorf("%v: %q %q %v", c.term, server, node, ok)
		}
	}
}

// TestReadError: an error goes to another node and back as it is.
func TestReadError(t *testing.T) {
	for _, err := range []error{
		&Fault{RankFailed, errors.New("rank 2 has ended")},
		&ops.Error{Op: "add", Shapes: []string{"f32{2}", "f32{3}"}, Err: &Fault{BadArgument, fmt.Errorf("shape")}},
		&ops.Error{Op: "import", Err: &Fault{NotShared, fmt.Errorf("no session")}},
	} {
		term := ErrorTerm(err)
		encoded, fault := etf.Append(nil, term)
		if fault != nil {
			t.Fatal(fault)
		}
		there, _, fault := etf.Decode(encoded)
		if fault != nil {
			t.Fatal(fault)
		}
		again := ReadError(there)
		if KindOf(again) != KindOf(err) || again.Error() != err.Error() {
			t.Errorf("%v of kind %s became %v of kind %s", err, KindOf(err), again, KindOf(again))
		}
	}
	for _, bad := range []etf.Term{nil, int64(1), etf.Tuple{}, etf.Tuple{int64(1), int64(1), int64(1), int64(1)}} {
		if err := ReadError(bad); KindOf(err) != BadRequest {
			t.Errorf("%v is read as %v", bad, err)
		}
	}
}
