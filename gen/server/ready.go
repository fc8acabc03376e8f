package server

import (
	"fmt"
	"strings"
	"time"
)

// stuckAfter is how long a device server may be handling one message, or a device
// carrying out one submission, before the node counts as not ready. Both take
// milliseconds, unless something is wrong.
const (
	stuckAfter      = 5 * time.Second
	submissionStuck = 30 * time.Second
)

// NotReady says why the node does not serve, a sentence for each device at fault.
// It is empty where all devices serve.
func (all Reporters) NotReady() string {
	list := all.statuses(Patience)
	var why []string
	if len(list) < len(all) {
		why = append(why, fmt.Sprintf("%d of %d device servers have ended; restart nxvk-node", len(all)-len(list), len(all)))
	}
	for i := range list {
		s := &list[i]
		switch old := since(s.Oldest); {
		case s.Lost != "":
			why = append(why, s.Name+": "+s.Lost)
		case s.Busy > stuckAfter:
			why = append(why, fmt.Sprintf("%s has been busy with one message for %v, so nobody is served; restart nxvk-node if that goes on",
				s.Name, s.Busy.Round(time.Second)))
		case old > submissionStuck:
			why = append(why, fmt.Sprintf("%s: the device has been carrying out one submission for %v; restart nxvk-node if that goes on",
				s.Name, old.Round(time.Second)))
		}
	}
	return strings.Join(why, "\n")
}
