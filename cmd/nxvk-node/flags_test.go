package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// renamed is a command with a flag that has a former name, and what was read into it.
func renamed() (*flagSet, *string) {
	f := flags("test")
	value := f.String("disable-passes", "", "")
	f.rename("no", "disable-passes")
	return f, value
}

// A flag answers to its former name, in the environment and on the command line, and
// warns once; the current name wins in the environment, and the command line over both.
func TestFormerName(t *testing.T) {
	for _, x := range []struct {
		name     string
		env      map[string]string
		args     []string
		want     string
		warnings int
	}{
		{"current", nil, []string{"--disable-passes", "a"}, "a", 0},
		{"former", nil, []string{"--no", "a"}, "a", 1},
		{"former twice", map[string]string{"NXVK_NO": "a"}, []string{"--no=b"}, "b", 1},
		{"current variable", map[string]string{"NXVK_DISABLE_PASSES": "a"}, nil, "a", 0},
		{"both variables", map[string]string{"NXVK_NO": "a", "NXVK_DISABLE_PASSES": "b"}, nil, "b", 1},
		{"the last on the command line", map[string]string{"NXVK_DISABLE_PASSES": "a"}, []string{"--disable-passes", "b", "--no", "c"}, "c", 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			for k, v := range x.env {
				t.Setenv(k, v)
			}
			f, value := renamed()
			if err := f.parse(x.args); err != nil || *value != x.want {
				t.Fatalf("%q, %v; want %q", *value, err, x.want)
			}
			if len(f.warnings) != x.warnings {
				t.Errorf("warnings %q, want %d", f.warnings, x.warnings)
			}
			for _, w := range f.warnings {
				if !strings.Contains(w, "use --disable-passes or NXVK_DISABLE_PASSES") {
					t.Errorf("the warning %q does not say what to use", w)
				}
			}
		})
	}
}

// A flag that may be repeated has all its values in their order; those of the command line replace the
// one of the environment.
func TestRepeatedFlag(t *testing.T) {
	for _, x := range []struct {
		env  string
		args []string
		want []string
	}{
		{"", nil, nil},
		{"", []string{"--device", "0", "--device=0", "--device", "llvmpipe (LLVM 19, 256 bits)"}, []string{"0", "0", "llvmpipe (LLVM 19, 256 bits)"}},
		{"host", nil, []string{"host"}},
		{"host", []string{"--device", "1", "--device", "0"}, []string{"1", "0"}},
	} {
		if x.env != "" {
			t.Setenv("NXVK_DEVICE", x.env)
		}
		var got []string
		f := flags("test")
		f.list("device", &got, "")
		if err := f.parse(x.args); err != nil || !slices.Equal(got, x.want) {
			t.Errorf("%s %q: got %q, %v; want %q", x.env, x.args, got, err, x.want)
		}
	}
}

// A value that a flag refuses is an error of usage that names the variable.
func TestBadVariable(t *testing.T) {
	t.Setenv("NXVK_NET_TICKTIME", "soon")
	f := flags("test")
	f.Duration("net-ticktime", 0, "")
	if err := f.parse(nil); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "NXVK_NET_TICKTIME") {
		t.Error(err)
	}
}

// A value that a flag does not take is an error that says what it takes, from the command line and from the
// environment.
func TestBadValue(t *testing.T) {
	for _, tt := range []struct{ flag, value, want string }{
		{"memory-limit", "10MB", "give a number of bytes, without a unit"},
		{"host-limit", "many", "give a number of elements, without a unit"},
		{"port", "22x", "give a whole number"},
		{"deadline", "5", "give a duration, such as 500ms or 5s"},
		{"all-ow", "maybe", "give true or false"},
	} {
		for _, variable := range []string{"", variable(tt.flag)} {
			f := flags("test")
			f.Uint64("memory-limit", 0, "maximum `bytes`")
			f.Int("host-limit", 0, "most `elements`")
			f.Int("port", 0, "`port` to listen on")
			f.Duration("deadline", 0, "")
			f.Bool("all-ow", false, "")
			args := []string{"--" + tt.flag + "=" + tt.value}
			if variable != "" {
				t.Setenv(variable, tt.value)
				args = nil
			}
			if err := f.parse(args); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s=%s: %v, want %q", tt.flag, tt.value, err, tt.want)
			}
			if variable != "" {
				os.Unsetenv(variable)
			}
		}
	}
}

// The help lists each flag as one writes it, with its default, and no former name.
func TestHelp(t *testing.T) {
	f, _ := renamed()
	f.Int("port", 7, "`port` to listen on")
	f.Bool("json", false, "print JSON")
	var b strings.Builder
	f.help(&b)
	for _, want := range []string{"usage: nxvk-node test [FLAGS]\n", "\n  --disable-passes string\n",
		"\n  --json\n      print JSON\n", "\n  --port port\n      port to listen on (default: 7)\n", "--port as NXVK_PORT"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the help has no %q:\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "--no\n") || strings.Contains(b.String(), "former") {
		t.Errorf("the help has a former name:\n%s", &b)
	}
}
