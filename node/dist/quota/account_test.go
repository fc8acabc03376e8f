package quota

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// purse is a Budget.
type purse struct {
	most int64
	held atomic.Int64
}

var errEmpty = errors.New("empty")

func (p *purse) Take(n int64) error {
	if p.held.Add(n) > p.most {
		p.held.Add(-n)
		return errEmpty
	}
	return nil
}

func (p *purse) Give(n int64) { p.held.Add(-n) }

// TestAccount takes and gives from many goroutines. The account always holds the
// memory in use, except the floor, and nothing in the end.
func TestAccount(t *testing.T) {
	p := &purse{most: 1 << 40}
	a := NewAccount(p, 1<<40)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			var mine []int64
			for range 5000 {
				if len(mine) > 20 || len(mine) > 0 && r.IntN(2) == 0 {
					a.Give(Terms, mine[len(mine)-1])
					mine = mine[:len(mine)-1]
					continue
				}
				n := r.Int64N(1 << r.IntN(20))
				if err := a.Take(Terms, n); err != nil {
					t.Error(err)
				}
				mine = append(mine, n)
			}
			for _, n := range mine {
				a.Give(Terms, n)
			}
		})
	}
	all.Wait()
	if used := a.Used(); used != 0 || a.UsedFor(Terms) != 0 {
		t.Errorf("%d bytes in use, %d of them decoded", used, a.UsedFor(Terms))
	}
	if held := p.held.Load(); held > 2*step {
		t.Errorf("%d bytes held for nothing", held)
	}
	a.Close()
	if held := p.held.Load(); held != 0 {
		t.Errorf("%d bytes held after the end", held)
	}
}

// TestAccountBounds exceeds the bound of the connection, and the budget.
func TestAccountBounds(t *testing.T) {
	p := &purse{most: 10 * step}
	a, b := NewAccount(p, 4*step), NewAccount(p, 1<<40)
	if err := a.Take(Queue, 4*step); err != nil {
		t.Fatal(err)
	}
	if err := a.Take(Assembly, 1); !errors.Is(err, ErrOverLimit) {
		t.Errorf("beyond the connection's bound: %v", err)
	}
	if err := b.Take(Assembly, 20*step); !errors.Is(err, ErrOverLimit) || !errors.Is(err, errEmpty) {
		t.Errorf("beyond the budget: %v", err)
	}
	if err := b.Take(Assembly, 7*step); err != nil {
		t.Errorf("within both: %v", err)
	}
	a.Give(Queue, 4*step)
	a.Close()
	b.Give(Assembly, 7*step)
	b.Close()
	if held := p.held.Load(); held != 0 {
		t.Errorf("%d bytes held after the end", held)
	}
	if err := b.Take(Assembly, 2*step); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
