package report

import (
	"fmt"
	"strings"
	"time"
)

// The node is not ready if a server spends longer than stuckAfter on one message, or a device
// longer than submissionStuck on one submission. Both normally take milliseconds.
const (
	stuckAfter      = 5 * time.Second
	submissionStuck = 30 * time.Second
)

// NotReady returns the reasons why the node does not serve, a line for each device at fault;
// empty if all devices serve.
func (all Reporters) NotReady() string {
	list := all.Snapshots(Patience)
	var why []string
	if len(list) < len(all) {
		why = append(why, fmt.Sprintf("%d of %d device servers have ended: restart nxvk-node", len(all)-len(list), len(all)))
	}
	for i := range list {
		s := &list[i]
		switch old := since(s.Oldest); {
		case s.Lost != "":
			why = append(why, s.Name+": "+s.Lost)
		case s.Busy > stuckAfter:
			why = append(why, fmt.Sprintf("%s has been busy with one message for %v and serves nobody: restart nxvk-node if that does not end",
				s.Name, s.Busy.Round(time.Second)))
		case old > submissionStuck:
			why = append(why, fmt.Sprintf("%s: the device has worked on one submission for %v: restart nxvk-node if that does not end",
				s.Name, old.Round(time.Second)))
		}
	}
	return strings.Join(why, "\n")
}
