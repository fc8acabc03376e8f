package main

import (
	"strings"
	"testing"
)

func TestCounter(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  []string // in the output
		ok    bool
	}{
		{"steps", []string{"::pass vet", "::skip nx: no Elixir", "hello"},
			[]string{"ok   vet", "skip nx: no Elixir", "hello", "1 passed, 0 failed, 1 skipped"}, true},
		{"a failing step", []string{"::pass vet", "::fail gofmt"},
			[]string{"FAIL gofmt", "1 passed, 1 failed, 0 skipped"}, false},
		{"nothing at all", nil, []string{"0 passed"}, false},
		{"a failing test shows its output", []string{
			`{"Action":"output","Package":"p","Test":"T","Output":"got 1\n"}`,
			`{"Action":"fail","Package":"p","Test":"T"}`,
			`{"Action":"output","Package":"p","Output":"FAIL\n"}`,
			`{"Action":"fail","Package":"p"}`},
			[]string{"FAIL p T\ngot 1\n", "0 passed, 1 failed, 0 skipped"}, false},
		{"a skip gives its reason", []string{
			`{"Action":"pass","Package":"p","Test":"U"}`,
			`{"Action":"output","Package":"p","Test":"T","Output":"=== RUN   T\n"}`,
			`{"Action":"output","Package":"p","Test":"T","Output":"    x_test.go:3: no device\n"}`,
			`{"Action":"skip","Package":"p","Test":"T"}`},
			[]string{"skip p T: x_test.go:3: no device", "1 passed, 0 failed, 1 skipped"}, true},
		{"a package that does not build", []string{
			`{"ImportPath":"p","Action":"build-output","Output":"x.go:1: syntax error\n"}`,
			`{"ImportPath":"p","Action":"build-fail"}`,
			`{"Action":"fail","Package":"p","FailedBuild":"p"}`},
			[]string{"syntax error", "FAIL p", "0 passed, 1 failed"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			c := newCounter(&out)
			for _, line := range test.lines {
				c.line(line)
			}
			if ok := c.finish(); ok != test.ok {
				t.Errorf("finish: got %v, want %v", ok, test.ok)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output lacks %q:\n%s", want, out.String())
				}
			}
		})
	}
}
