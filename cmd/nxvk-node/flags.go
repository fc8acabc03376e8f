package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

var (
	errUsage = errors.New("bad command line")
	errHelp  = errors.New("help was asked for")
)

// flagSet is the flags of a command. Each flag can also be set in the environment:
// --net-ticktime as NXVK_NET_TICKTIME. The command line wins.
type flagSet struct {
	*flag.FlagSet
	former   map[string]string // former name of a flag to its name
	warnings []string          // what the user should change; for the log
	words    string            // the text after the flags in the help
	lists    []*listValue      // the flags that may be repeated
}

// flags returns an empty set for a command.
func flags(name string) *flagSet {
	return &flagSet{FlagSet: flag.NewFlagSet("nxvk-node "+name, flag.ContinueOnError), former: make(map[string]string)}
}

// rename has a flag answer to its former name, too, and warn once where that is used.
func (f *flagSet) rename(former, name string) {
	f.former[former] = name
	warned := false
	f.Func(former, "former name of --"+name+"; the next release does not have it", func(value string) error {
		if !warned {
			warned = true
			f.warnings = append(f.warnings, fmt.Sprintf("--%s and %s are former names, which the next release does not have: use --%s or %s",
				former, variable(former), name, variable(name)))
		}
		return f.Set(name, value)
	})
}

// listValue is the value of a flag that may be repeated. The first one on the command line replaces the
// one of the environment.
type listValue struct {
	to   *[]string
	read bool // the environment has been read
}

// Set implements flag.Value.
func (l *listValue) Set(value string) error {
	if l.read {
		*l.to, l.read = nil, false
	}
	*l.to = append(*l.to, value)
	return nil
}

// String implements flag.Value.
func (l *listValue) String() string {
	if l.to == nil {
		return ""
	}
	return strings.Join(*l.to, ", ")
}

// list defines a flag that may be repeated.
func (f *flagSet) list(name string, to *[]string, usage string) {
	l := &listValue{to: to}
	f.lists = append(f.lists, l)
	f.Var(l, name, usage)
}

// variable is the name of a flag in the environment.
func variable(name string) string {
	return "NXVK_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// parse reads the environment and then the command line.
func (f *flagSet) parse(args []string) error {
	if err := f.readEnvironment(); err != nil {
		return err
	}
	for _, l := range f.lists {
		l.read = true
	}
	f.SetOutput(io.Discard)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.help(os.Stdout)
		return errHelp
	case err != nil:
		return fmt.Errorf("%w: %s; %s --help lists the flags", errUsage, f.explain(err), f.Name())
	}
	return nil
}

// notParsed ends what package flag says of a value that its flag does not take.
const notParsed = "parse error"

// explain says in an error of Parse what the flag takes.
func (f *flagSet) explain(err error) string {
	text, found := strings.CutSuffix(err.Error(), notParsed)
	name := text[strings.LastIndex(text, " -")+1:]
	if x := f.Lookup(strings.Trim(name, "-: ")); found && x != nil {
		return text + takes(x)
	}
	return err.Error()
}

// takes says what values a flag of a number, a duration or a choice takes.
func takes(x *flag.Flag) string {
	if g, ok := x.Value.(flag.Getter); ok {
		switch g.Get().(type) {
		case time.Duration:
			return "give a duration, such as 500ms or 5s"
		case bool:
			return "give true or false"
		}
	}
	unit, _ := flag.UnquoteUsage(x)
	switch unit {
	case "bytes", "elements":
		return "give a number of " + unit + ", without a unit"
	}
	return "give a whole number"
}

// readEnvironment sets the flags that the environment has. Former names come first, so
// that a variable of the current name wins.
func (f *flagSet) readEnvironment() error {
	var former, current []string
	f.VisitAll(func(x *flag.Flag) {
		if f.former[x.Name] != "" {
			former = append(former, x.Name)
			return
		}
		current = append(current, x.Name)
	})
	for _, name := range append(former, current...) {
		value, ok := os.LookupEnv(variable(name))
		if !ok {
			continue
		}
		if err := f.Set(name, value); err != nil {
			text := err.Error()
			if text == notParsed {
				text = takes(f.Lookup(name))
			}
			return fmt.Errorf("%w: %s=%q: %s", errUsage, variable(name), value, text)
		}
	}
	return nil
}

// help lists the flags with their defaults, former names left out.
func (f *flagSet) help(out io.Writer) {
	fmt.Fprintf(out, "usage: %s [FLAGS]%s\n", f.Name(), f.words)
	last := ""
	f.VisitAll(func(x *flag.Flag) {
		if f.former[x.Name] != "" {
			return
		}
		last = x.Name
		value, usage := flag.UnquoteUsage(x)
		if !slices.Contains([]string{"", "false", "0", "0s"}, x.DefValue) {
			usage += " (default: " + x.DefValue + ")"
		}
		fmt.Fprintf(out, "\n  %s\n      %s\n", strings.TrimSpace("--"+x.Name+" "+value), usage)
	})
	if last != "" {
		fmt.Fprintf(out, "\nEach flag can be set in the environment, too: --%s as %s.\n", last, variable(last))
	}
}

// noArgs refuses words after the flags.
func (f *flagSet) noArgs() error {
	if f.NArg() > 0 {
		return fmt.Errorf("%w: unexpected argument %q; %s --help lists the flags", errUsage, f.Arg(0), f.Name())
	}
	return nil
}
