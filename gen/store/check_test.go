package store

import (
	"errors"
	"testing"
)

// A joined list has the checks of both, each once. Checks that found nothing leave it, and
// its error is that of the first check that failed.
func TestChecks(t *testing.T) {
	a, b, c := &Check{}, &Check{}, &Check{}
	list := Checks{a}.With(Checks{b, a}).With(Checks{c})
	if len(list) != 3 || list[0] != a || list[1] != b || list[2] != c {
		t.Fatalf("got %v", list)
	}
	told := 0
	list.Settled(func() { told++ })
	bad, worse := errors.New("bad"), errors.New("worse")
	c.Settle(worse)
	a.Settle(nil)
	if told != 0 || list.Err() != worse {
		t.Errorf("told %d times before the last, error %v", told, list.Err())
	}
	b.Settle(bad)
	if told != 1 || list.Err() != bad {
		t.Errorf("told %d times, error %v", told, list.Err())
	}
	if list = list.With(nil); len(list) != 2 {
		t.Errorf("a check without an error stays: %v", list)
	}
}

// Many checks become one, which waits for the last.
func TestManyChecks(t *testing.T) {
	var all, list Checks
	for range 10 * maxChecks {
		c := &Check{}
		all = append(all, c)
		if list = list.With(Checks{c}); len(list) > maxChecks {
			t.Fatalf("%d checks", len(list))
		}
	}
	bad := errors.New("bad")
	for i, c := range all {
		told := false
		list.Settled(func() { told = true })
		if told {
			t.Fatalf("settled after %d checks", i)
		}
		if i == 7 {
			c.Settle(bad)
		} else {
			c.Settle(nil)
		}
	}
	list.Settled(func() {
		if list.Err() != bad {
			t.Errorf("got %v", list.Err())
		}
	})
}

// A value whose check failed carries its error.
func TestFailure(t *testing.T) {
	bad := errors.New("bad")
	c := &Check{}
	v := Value{Mem: &Storage{Checks: Checks{c}}}
	if v.Failure() != nil {
		t.Error("an error before the check")
	}
	c.Settle(bad)
	if v.Failure() != bad || (Value{Err: bad}).Failure() != bad || (Value{}).Failure() != nil {
		t.Errorf("got %v", v.Failure())
	}
}
