// Command opgen writes the files that are made from the table of operations:
// the terms from which the Elixir package defines its callbacks, and the table
// for readers. Run it from the root of the repository:
//
//	go run ./ops/opgen
package main

import (
	"fmt"
	"os"

	"nxvk/ops/terms"
)

// Where the files go, from the root of the repository.
const (
	termsFile  = "elixir/nx_vulkan_go/priv/ops.eterm"
	readmeFile = "ops/README.md"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "opgen:", err)
		os.Exit(1)
	}
}

func write() error {
	for name, text := range files() {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the table: %w", err)
		}
	}
	return nil
}

// files returns the text of each file.
func files() map[string]string {
	return map[string]string{termsFile: terms.Table(), readmeFile: readme()}
}
