package feed

import (
	"encoding/binary"
	"slices"

	"nxvk/vulkan"
)

// Check is a word that kernels of a plan set where something is wrong, and what is done
// about that when the submission is complete.
type Check struct {
	feed   *Feed
	word   word
	ticket vulkan.Ticket
	sent   bool // ticket is that of the submission that has the check, or of a later one
	end    func(word uint32)
}

// word is a place in memory that kernels write and the host reads.
type word struct {
	page *vulkan.Buffer
	at   int // bytes
}

// Words are wordStride apart, which all devices can bind. A page has pageWords of them.
const (
	wordStride = 256
	pageWords  = 64
)

// words are those of a feed. The lowest one is taken first, so that a loop, which records the
// same each time, has the same words each time, and its command buffer can be used again.
type words struct {
	pages []*vulkan.Buffer
	taken []bool
}

// take returns a word that is 0.
func (s *words) take(f *Feed) (word, error) {
	i := slices.Index(s.taken, false)
	if i < 0 {
		page, err := f.stream.Zeroed(wordStride * pageWords)
		if err != nil {
			return word{}, err
		}
		i = len(s.taken)
		s.pages, s.taken = append(s.pages, page), append(s.taken, make([]bool, pageWords)...)
	}
	s.taken[i] = true
	return word{s.pages[i/pageWords], i % pageWords * wordStride}, nil
}

// give takes a word back, which no submitted work uses.
func (s *words) give(w word) {
	clear(w.page.Bytes()[w.at : w.at+4])
	s.taken[slices.Index(s.pages, w.page)*pageWords+w.at/wordStride] = false
}

// drop frees the pages.
func (s *words) drop() {
	for _, p := range s.pages {
		p.Free()
	}
	s.pages, s.taken = nil, nil
}

// value is what the kernel has written: 0 if it has found nothing wrong.
func (w word) value() uint32 { return binary.LittleEndian.Uint32(w.page.Bytes()[w.at:]) }

// arg is the word as an argument of a dispatch.
func (w word) arg() vulkan.Arg {
	return vulkan.Arg{Buffer: w.page, Offset: w.at, Size: 4, Access: vulkan.Write}
}

// OpenCheck returns a check of what is about to be recorded. end is given its word, 0 if
// nothing is wrong.
func (f *Feed) OpenCheck(end func(word uint32)) (*Check, error) {
	at, err := f.words.take(f)
	if err != nil {
		return nil, err
	}
	return &Check{feed: f, word: at, end: end}, nil
}

// Arg is the word of a check as an argument of a dispatch.
func (c *Check) Arg() vulkan.Arg { return c.word.arg() }

// Drop ends a check whose plan is not recorded.
func (c *Check) Drop() { c.feed.words.give(c.word) }

// AddChecks has checks settled when their plan, all of which has been recorded, has run.
func (f *Feed) AddChecks(list []*Check) {
	if len(list) == 0 {
		return
	}
	f.checks = append(f.checks, list...)
	if fs := f.feeds; !slices.Contains(fs.checking, f) {
		fs.checking = append(fs.checking, f)
	}
	if f.stream.Pending() == 0 {
		f.markLatest()
	}
}

// mark notes which submission has the checks that have been recorded.
func (f *Feed) mark(t vulkan.Ticket) (any bool) {
	for _, c := range f.checks {
		if !c.sent {
			c.ticket, c.sent, any = t, true, true
		}
	}
	return any
}

// markLatest has the checks that have been recorded settled after the latest submission of a feed,
// which has nothing recorded.
func (f *Feed) markLatest() {
	if ticket, err := f.stream.Submit(); err == nil && f.mark(ticket) {
		f.feeds.dev.Notify(ticket, func(error) { f.feeds.cfg.Post(f.feeds.SettleChecks) })
	}
}

// Checks counts the checks that are not settled.
func (f *Feed) Checks() int { return len(f.checks) }

// SettleChecks looks at the words of all checks whose submission is complete.
func (fs *Feeds) SettleChecks() {
	for i := 0; i < len(fs.checking); {
		f := fs.checking[i]
		for len(f.checks) > 0 && f.checks[0].sent && fs.dev.Done(f.checks[0].ticket) {
			c := f.checks[0]
			f.checks = f.checks[1:]
			value := c.word.value()
			if fs.dev.Lost() != nil {
				value = 0
			}
			f.words.give(c.word)
			c.end(value)
		}
		if len(f.checks) > 0 {
			i++
			continue
		}
		fs.checking = slices.DeleteFunc(fs.checking, func(g *Feed) bool { return g == f })
		if f.ended {
			f.words.drop()
		}
	}
}
