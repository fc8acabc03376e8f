package wire

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"nxvk/gen/etf"
	"nxvk/ops"
)

func options(pairs ...etf.Term) etf.Map {
	var m etf.Map
	for i := 0; i < len(pairs); i += 2 {
		m = append(m, etf.Pair{Key: pairs[i], Value: pairs[i+1]})
	}
	return m
}

func TestRequest(t *testing.T) {
	none := Options{Limit: math.MaxInt64}
	for _, x := range []struct {
		term etf.Term
		want Request
	}{
		{atom("sync"), Request{Verb: Sync}},
		{atom("barrier"), Request{Verb: Barrier}},
		{atom("turn"), Request{Verb: Barrier}}, // the former name
		{atom("close"), Request{Verb: Close}},
		{tuple{atom("close"), etf.Pid{Node: "a@b", ID: 7}}, Request{Verb: CloseOf, Owner: etf.Pid{Node: "a@b", ID: 7}}},
		{tuple{atom("traced"), atom("nil"), tuple{atom("download"), int64(4)}}, Request{Verb: Download, ID: 4, Count: math.MaxInt}},
		{atom("memory"), Request{Verb: Memory}},
		{atom("info"), Request{Verb: Info}},
		{tuple{atom("describe"), int64(4)}, Request{Verb: Describe, ID: 4}},
		{tuple{atom("shader"), []byte("key")}, Request{Verb: Shader, Key: "key"}},
		{tuple{atom("explain"), []byte("key")}, Request{Verb: Explain, Key: "key"}},
		{tuple{atom("explain"), []byte("key"), atom("profile")}, Request{Verb: Explain, Key: "key", Way: Profile}},
		{tuple{atom("explain"), []byte("key"), atom("gpu")}, Request{Verb: Explain, Key: "key", Way: GPU}},
		{tuple{atom("download"), int64(4)}, Request{Verb: Download, ID: 4, Count: math.MaxInt}},
		{tuple{atom("download"), int64(4), int64(0), int64(0)}, Request{Verb: Download, ID: 4}},
		{tuple{atom("download"), int64(4), int64(5), int64(6)}, Request{Verb: Download, ID: 4, Offset: 5, Count: 6}},
		{tuple{atom("at"), int64(77), tuple{atom("describe"), int64(4)}}, Request{Verb: Describe, ID: 4, Incarnation: 77}},
		{tuple{atom("at"), int64(77), atom("sync")}, Request{Verb: Sync, Incarnation: 77}},
		{tuple{atom("open"), etf.Map(nil)}, Request{Verb: Open, Options: none}},
		{tuple{atom("open"), options(atom("limit"), atom("infinity"))},
			Request{Verb: Open, Options: Options{Limit: math.MaxInt64, LimitSet: true}}},
		{etf.Tuple{etf.Atom("open"), etf.Map{{Key: etf.Atom("deadline"), Value: int64(1500)}}},
			Request{Verb: Open, Options: Options{Limit: math.MaxInt64, Deadline: 1500 * time.Millisecond, DeadlineSet: true}}},
		{tuple{atom("open"), options(atom("weight"), int64(25))}, Request{Verb: Open, Options: Options{Limit: math.MaxInt64, Weight: 25}}},
		{tuple{atom("open"), options(atom("limit"), int64(9), atom("label"), []byte("job"), atom("digest"), []byte("ab"), atom("sweep"), atom("true"))},
			Request{Verb: Open, Options: Options{Limit: 9, LimitSet: true, Label: "job", Digest: "ab", Sweep: true}}},
		{tuple{atom("open"), options(atom("sweep"), atom("false"), atom("flow"), atom("false"))}, Request{Verb: Open, Options: none}},
		{tuple{atom("open"), options(atom("flow"), atom("true"))}, Request{Verb: Open, Options: Options{Limit: math.MaxInt64, Flow: true}}},
	} {
		if got, err := DecodeRequest(x.term); err != nil || got != x.want {
			t.Errorf("%v: %+v, %v, want %+v", x.term, got, err, x.want)
		}
	}
}

// A request may bring instructions along, which are read as those of a stream are.
func TestRequestAfterInstructions(t *testing.T) {
	instrs := list{tuple{atom("negate"), f32out, list{int64(9)}, list(nil)}, atom("x")}
	for _, x := range []struct {
		term        etf.Term
		want        Request
		incarnation uint64
	}{
		{tuple{atom("then"), instrs, atom("sync")}, Request{Verb: Sync}, 0},
		{tuple{atom("at"), int64(77), tuple{atom("then"), instrs, tuple{atom("describe"), int64(4)}}},
			Request{Verb: Describe, ID: 4, Incarnation: 77}, 77},
	} {
		got, err := DecodeRequest(x.term)
		if err != nil || got.First == nil {
			t.Fatalf("%v: %+v, %v", x.term, got, err)
		}
		want, _ := DecodeStream(tuple{atom("nxvk"), int64(x.incarnation), instrs})
		if !reflect.DeepEqual(*got.First, want) || want.Instrs[0].Err != nil || want.Instrs[1].Err == nil {
			t.Errorf("%v: instructions %+v, want %+v", x.term, *got.First, want)
		}
		if got.First = nil; got != x.want {
			t.Errorf("%v: %+v, want %+v", x.term, got, x.want)
		}
	}
	got, err := DecodeRequest(tuple{atom("then"), instrs, atom("sink")})
	if err == nil || got.First == nil || len(got.First.Instrs) != 2 {
		t.Errorf("with a request that cannot be read: %+v, %v", got, err)
	}
}

func TestMalformedRequest(t *testing.T) {
	const list, two, opts = "gen/README.md lists them", "two integers that are not negative", "limit, label, digest, deadline, weight, sweep and mesh"
	for _, x := range []struct {
		term etf.Term
		text string
	}{
		{atom("sink"), list},
		{nil, list},
		{int64(1), list},
		{etf.List(nil), list},
		{etf.Map{}, list},
		{tuple{}, list},
		{tuple{atom("describe")}, list},
		{tuple{atom("describe"), int64(1), int64(2)}, list},
		{tuple{atom("download"), int64(1), int64(2)}, list},
		{tuple{etf.List(nil), int64(1)}, list},
		{tuple{atom("describe"), atom("x")}, "1 to 2^60"},
		{tuple{atom("explain"), []byte{}}, "1 to 64 bytes"},
		{tuple{atom("explain"), []byte("key"), atom("prophet")}, list},
		{tuple{atom("download"), int64(0)}, "1 to 2^60"},
		{tuple{atom("download"), int64(1), int64(-1), int64(2)}, two},
		{tuple{atom("download"), int64(1), int64(1), int64(-2)}, two},
		{tuple{atom("download"), int64(1), 1.0, int64(2)}, two},
		{tuple{atom("download"), int64(1), int64(1), new(big.Int).Lsh(big.NewInt(1), 70)}, two},
		{tuple{atom("at"), atom("x"), atom("sync")}, "an integer and another request"},
		{tuple{atom("at"), int64(1), tuple{atom("at"), int64(1), atom("sync")}}, "an integer and another request"},
		{tuple{atom("at"), int64(1), atom("sink")}, list},
		{tuple{atom("then"), atom("x"), atom("sync")}, "a list and a request"},
		{tuple{atom("then"), etf.List{}, atom("sink")}, list},
		{tuple{atom("then"), etf.List{}, tuple{atom("at"), int64(1), atom("sync")}}, "a list and a request"},
		{tuple{atom("then"), etf.List{}, tuple{atom("then"), etf.List{}, atom("sync")}}, "a list and a request"},
		{tuple{atom("open"), etf.List(nil)}, "options are a map"},
		{tuple{atom("open"), options(atom("colour"), int64(1))}, opts},
		{tuple{atom("open"), options([]byte("limit"), int64(1))}, opts},
		{tuple{atom("open"), options(etf.List(nil), int64(1))}, opts},
		{tuple{atom("open"), options(atom("limit"), int64(0))}, opts},
		{tuple{atom("open"), options(atom("limit"), 1.5)}, opts},
		{tuple{atom("open"), options(atom("weight"), int64(0))}, opts},
		{tuple{atom("open"), options(atom("weight"), int64(101))}, opts},
		{tuple{atom("open"), options(atom("weight"), 1.5)}, opts},
		{tuple{atom("open"), options(atom("label"), atom("x"))}, opts},
		{tuple{atom("open"), options(atom("label"), make([]byte, 256))}, opts},
		{tuple{atom("open"), options(atom("digest"), int64(1))}, opts},
		{tuple{atom("open"), options(atom("sweep"), int64(1))}, opts},
	} {
		_, err := DecodeRequest(x.term)
		if err == nil || KindOf(err) != BadRequest || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%v: %v, want …%s…", x.term, err, x.text)
		}
	}
}

func TestKey(t *testing.T) {
	large := new(big.Int).SetUint64(math.MaxUint64)
	for _, x := range []struct {
		term etf.Term
		want uint64
		ok   bool
	}{
		{int64(0), 0, true},
		{int64(math.MaxInt64), math.MaxInt64, true},
		{large, math.MaxUint64, true},
		{new(big.Int).Add(large, big.NewInt(1)), 0, false},
		{int64(-1), 0, false},
		{1.0, 0, false},
		{nil, 0, false},
	} {
		if got, err := Key(x.term); got != x.want || (err == nil) != x.ok {
			t.Errorf("%v: %v, %v", x.term, got, err)
		}
	}
}

// Errors cross the wire with their kind, operation and operands.
func TestErrorTerm(t *testing.T) {
	fault := &Fault{Limit, fmt.Errorf("too much")}
	for _, x := range []struct {
		err  error
		want tuple
	}{
		{fault, tuple{atom("limit"), atom("nil"), etf.List(nil), "too much"}},
		{fmt.Errorf("plain"), tuple{atom("internal"), atom("nil"), etf.List(nil), "plain"}},
		{&ops.Error{Op: "add", Shapes: []string{"f32{2}", "s8"}, Err: fault}, tuple{atom("limit"), "add", etf.List{"f32{2}", "s8"}, "too much"}},
		{&ops.Error{Err: fault}, tuple{atom("limit"), atom("nil"), etf.List(nil), "too much"}},
		{fmt.Errorf("while reading: %w", fault), tuple{atom("limit"), atom("nil"), etf.List(nil), "while reading: too much"}},
	} {
		want := encoded(t, tuple{atom("error"), x.want})
		if got := encoded(t, Failure(x.err)); got != want {
			t.Errorf("%v: %q, want %q", x.err, got, want)
		}
	}
	if got, want := encoded(t, Success(int64(1))), encoded(t, tuple{OK, int64(1)}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A sentence keeps its ends where it is too long, and stays UTF-8.
func TestLongMessage(t *testing.T) {
	for _, step := range []string{"instruction 1 (branch): region 1: ", "é"} {
		err := fmt.Errorf("here: %sis what it is", strings.Repeat(step, 1000))
		msg := ErrorTerm(err).(etf.Tuple)[3].(string)
		if len(msg) > MaxMessage || !utf8.ValidString(msg) {
			t.Errorf("%d bytes: %q", len(msg), msg)
		}
		if !strings.HasPrefix(msg, "here: "+step) || !strings.HasSuffix(msg, step+"is what it is") {
			t.Errorf("%q", msg)
		}
	}
}

// encoded is a term in the external format.
func encoded(t *testing.T, term etf.Term) string {
	t.Helper()
	b, err := etf.Append(nil, term)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
