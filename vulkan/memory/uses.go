package memory

import "nxvk/vulkan/submit"

// Uses are the submissions that used memory last: the one that wrote it, and those that have
// read it since, the latest of each stream. They are guarded by Memory.mu.
type Uses struct {
	wrote *submit.Submission
	reads []*submit.Submission
}

// write notes a submission that comes after all others.
func (u *Uses) write(s *submit.Submission) {
	all := append(u.reads, u.wrote)
	kept := all[:0]
	for _, r := range all {
		// It does not come after those of its family, who may yet have to come after the others.
		if s.Flow.Sibling(s.Flow) && r != nil && r.Flow != s.Flow && !r.Complete(false) {
			kept = append(kept, r)
		}
	}
	clear(all[len(kept):])
	u.wrote, u.reads = s, kept
}

// forgetContent notes that nobody wants the content: the memory is handed out. The next user still
// comes after a submission that was cancelled, but its error does not concern the next content.
func (u *Uses) forgetContent() {
	if w := u.wrote; w.Err() != nil {
		u.wrote, u.reads = nil, append(u.reads, w)
	}
}

// read notes a submission that comes after the one that wrote.
func (u *Uses) read(s *submit.Submission) {
	kept := u.reads[:0]
	for _, r := range u.reads {
		if r.Flow != s.Flow && !r.Complete(false) {
			kept = append(kept, r)
		}
	}
	u.reads = append(kept, s)
}

// each calls f with all of them until it returns false, and reports whether it never did.
func (u *Uses) each(f func(*submit.Submission) bool) bool {
	if u.wrote != nil && !f(u.wrote) {
		return false
	}
	for _, r := range u.reads {
		if !f(r) {
			return false
		}
	}
	return true
}

// complete reports whether the device no longer uses the memory.
func (u *Uses) complete() bool {
	return u.each(func(s *submit.Submission) bool { return s.Complete(true) })
}

// freeFor reports whether a stream can use the memory without waiting for another stream:
// for its turn or, where the device has several timelines, for its work.
func (u *Uses) freeFor(f *submit.Flow, timelines int) bool {
	return u.each(func(s *submit.Submission) bool {
		return s.Flow == f || s.Complete(true) || timelines == 1 && s.Issued()
	})
}

// union returns the uses of memory made of two pieces that are not complete.
func (u *Uses) union(v *Uses) Uses {
	var out Uses
	for _, list := range []*Uses{u, v} {
		list.each(func(s *submit.Submission) bool {
			if !s.Complete(false) {
				out.reads = append(out.reads, s)
			}
			return true
		})
	}
	return out
}
