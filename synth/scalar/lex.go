package scalar

import "strings"

// source is a text with the name that errors give it.
type source struct {
	name, text string
}

// position returns line and column, both from 1, of a byte offset.
func (s *source) position(pos int) (line, col int) {
	before := s.text[:min(pos, len(s.text))]
	return 1 + strings.Count(before, "\n"), pos - strings.LastIndexByte(before, '\n')
}

type tokenKind uint8

const (
	endToken tokenKind = iota
	nameToken
	numberToken
	signToken
)

type token struct {
	kind tokenKind
	text string
	pos  int
}

// signs are the operators and brackets, longer ones before their prefixes.
var signs = []string{"->", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>",
	"+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":", "(", ")", "[", "]", "{", "}", ",", ";"}

// lex splits a text into tokens; the last is an endToken. A comment runs
// from # to the end of the line.
func lex(src *source) []token {
	var out []token
	text := src.text
	for i := 0; ; {
		for i < len(text) && (strings.IndexByte(" \t\r\n", text[i]) >= 0 || text[i] == '#') {
			if text[i] == '#' {
				for i < len(text) && text[i] != '\n' {
					i++
				}
				continue
			}
			i++
		}
		if i == len(text) {
			return append(out, token{endToken, "end of text", i})
		}
		kind, n := lexOne(text[i:])
		if n == 0 {
			panic(at(src, i, ErrSyntax, "unexpected %q", text[i]))
		}
		out = append(out, token{kind, text[i : i+n], i})
		i += n
	}
}

// lexOne returns the kind and length of the token that s starts with.
func lexOne(s string) (tokenKind, int) {
	switch {
	case letter(s[0]):
		n := 1
		for n < len(s) && (letter(s[n]) || digit(s[n])) {
			n++
		}
		return nameToken, n
	case digit(s[0]):
		return numberToken, lexNumber(s)
	}
	for _, sign := range signs {
		if strings.HasPrefix(s, sign) {
			return signToken, len(sign)
		}
	}
	return endToken, 0
}

// lexNumber takes digits, letters and points, and a sign after an exponent
// letter; the conversion to a value judges the spelling.
func lexNumber(s string) int {
	exponent := "eE"
	if strings.HasPrefix(s, "0x") {
		exponent = "pP"
	}
	n := 1
	for n < len(s) {
		sign := (s[n] == '+' || s[n] == '-') && strings.IndexByte(exponent, s[n-1]) >= 0
		if !sign && !letter(s[n]) && !digit(s[n]) && s[n] != '.' {
			break
		}
		n++
	}
	return n
}

func letter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
