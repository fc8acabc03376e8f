package cluster

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// example is what one types at a prompt and what the page prints below it.
type example struct{ input, printed string }

var prompt = regexp.MustCompile(`^    \d+> (.*)$`)

// examples finds the lines of an Erlang shell in a page. An input goes on until
// the line that ends with a full stop.
func examples(page string) []example {
	var all []example
	var open bool
	for line := range strings.SplitSeq(page, "\n") {
		m := prompt.FindStringSubmatch(line)
		switch {
		case m != nil:
			all = append(all, example{input: m[1]})
			open = !strings.HasSuffix(m[1], ".")
		case len(all) == 0 || !strings.HasPrefix(line, "    "):
			if len(all) > 0 && !open {
				// Text between examples is nobody's output.
				all = append(all, example{})
			}
		case open:
			last := &all[len(all)-1]
			last.input += " " + strings.TrimSpace(line)
			open = !strings.HasSuffix(line, ".")
		default:
			all[len(all)-1].printed += strings.TrimSpace(line)
		}
	}
	return all
}

// TestReadme runs the examples of the pages as they stand.
func TestReadme(t *testing.T) {
	for path, count := range map[string]int{"../../README.md": 3, "../../gen/README.md": 19} {
		inputs := inputsOf(t, path, count)
		for _, d := range devices(t) {
			t.Run(strings.TrimPrefix(path, "../../")+"/"+d.name, func(t *testing.T) {
				n := &node{t: t, name: "nxvk@127.0.0.1", args: d.args}
				n.start()
				t.Cleanup(n.kill)
				startBEAM(t).want("ok", "{nxvk_driver,shell,[[%s]]}", inputs)
			})
		}
	}
}

// inputsOf returns the examples of a page as the terms that the driver takes.
// count is their number.
func inputsOf(t *testing.T, path string, count int) string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for _, e := range examples(string(page)) {
		if e.input != "" {
			inputs = append(inputs, "{"+strconv.Quote(e.input)+","+strconv.Quote(e.printed)+"}")
		}
	}
	if len(inputs) != count {
		t.Fatalf("%s: %d examples, want %d", path, len(inputs), count)
	}
	return strings.Join(inputs, ",")
}
