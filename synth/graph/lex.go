package graph

import "strings"

// token is a word, a mark of one byte, or the end of a line.
type token struct {
	text string
	line int
}

const (
	marks     = "%:=,()[]{}"
	endOfLine = "\n"
)

// tokens splits a text; what follows # in a line is a comment.
func tokens(text string) []token {
	var list []token
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
			n := strings.IndexAny(line, marks+" \t\r")
			switch n {
			case -1:
				n = len(line)
			case 0:
				n = 1
			}
			list = append(list, token{line[:n], i + 1})
			line = line[n:]
		}
		list = append(list, token{endOfLine, i + 1})
	}
	return list
}
