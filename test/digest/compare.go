package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// read reads the lines of a run: the names of the programs in their order, and the hashes of each, "column=hash".
func read(file string) (names []string, hashes map[string][]string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	hashes = make(map[string][]string)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 2 {
			return nil, nil, fmt.Errorf("%s: line %d has no hashes: %q", file, len(names)+1, lines.Text())
		}
		names = append(names, words[0])
		hashes[words[0]] = words[1:]
	}
	return names, hashes, lines.Err()
}

// compare writes a line for each program whose hashes differ between the runs in two files, with the columns that
// do, and then how many programs both runs have. They have a program if it has the same name, instructions and
// operands in both. The error is nil if there are such programs, and all have the same hashes.
func compare(w io.Writer, base, here string) error {
	_, before, err := read(base)
	if err != nil {
		return err
	}
	names, after, err := read(here)
	if err != nil {
		return err
	}
	common, differ := 0, 0
	for _, name := range names {
		a, b := before[name], after[name]
		if a == nil || a[0] != b[0] { // column program
			continue
		}
		common++
		if columns := changed(a, b); len(columns) > 0 {
			differ++
			fmt.Fprintln(w, name, strings.Join(columns, " "))
		}
	}
	fmt.Fprintf(w, "%d programs are in both; %d are in the base only, %d here only\n", common, len(before)-common, len(after)-common)
	switch {
	case common == 0:
		return errors.New("no program is in both")
	case differ > 0:
		return fmt.Errorf("%d of %d programs differ", differ, common)
	}
	return nil
}

// changed are the columns of which one of two lines has another hash.
func changed(a, b []string) (columns []string) {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a) || i >= len(b):
			return append(columns, "columns")
		case a[i] != b[i]:
			name, _, _ := strings.Cut(b[i], "=")
			columns = append(columns, name)
		}
	}
	return columns
}
