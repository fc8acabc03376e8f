package sweep

import (
	"time"
)

// Two machines that are compared measure each case in turns, and the least time of each counts. What
// else the computer does then slows both, and does not make one look slower than the other.

// rounds is how often each machine has its turn. There are fewer where a case takes long.
const rounds, fewRounds = 7, 3

// again is how often a late first result is measured anew.
const again = 2

// measureInTurns measures cases on several machines.
func measureInTurns(machines []*machine, cases []Case, goesOn func() bool) [][]Result {
	lists := make([][]Result, len(machines))
	for k, m := range machines {
		lists[k] = m.firsts(cases, goesOn)
	}
	for i := range cases {
		at := make([]*Result, 0, len(machines))
		for _, list := range lists {
			if i < len(list) {
				at = append(at, &list[i])
			}
		}
		if len(at) < len(machines) {
			break // the budget is spent
		}
		firstsAgain(machines, &cases[i], at)
		repeatInTurns(machines, &cases[i], at)
	}
	return lists
}

// firstsAgain measures first results anew where the first machine's was late, on devices that have
// compiled nothing yet.
func firstsAgain(machines []*machine, c *Case, at []*Result) {
	for range again {
		if at[0].First <= at[1].First+late || at[0].Error != "" || at[1].Error != "" {
			return
		}
		for k, m := range machines {
			at[k].attempt(func() error {
				fresh, err := open(m.name, m.serial)
				if err != nil {
					return err
				}
				defer fresh.close()
				first, err := fresh.firstOf(c)
				at[k].First = min(at[k].First, micros(first))
				return err
			})
		}
	}
}

// repeatInTurns measures repetitions of a case.
func repeatInTurns(machines []*machine, c *Case, at []*Result) {
	type runner struct {
		work  *work
		n     int
		least time.Duration
	}
	list := make([]runner, len(machines))
	defer func() {
		for _, r := range list {
			if r.work != nil {
				r.work.free()
			}
		}
	}()
	for k, m := range machines {
		at[k].attempt(func() (err error) {
			r := &list[k]
			if r.work, err = begin(m.warm, c); err == nil {
				r.n, r.least, err = r.work.pace(m.filling())
			}
			return err
		})
	}
	enough := long * machines[0].filling()
	for round, all := 1, time.Duration(0); round < rounds && (all < enough || round < fewRounds && all < 8*enough); round++ {
		for k, m := range machines {
			r := &list[k]
			at[k].attempt(func() error {
				if err := m.heat(); err != nil {
					return err
				}
				took, err := r.work.sample(r.n)
				r.least = min(r.least, took)
				all += took
				return err
			})
		}
	}
	for k, m := range machines {
		at[k].attempt(func() error {
			m.note(at[k], c, list[k].least/time.Duration(list[k].n), nil)
			return nil
		})
	}
}
