// Command release checks what a release needs: versions that agree, change logs with a
// section for the release, an unused tag, and a clean tree. It then lists the tests to run
// and the commands that make the release. Run it from the root of the repository:
//
//	make release-check
package main

import (
	"fmt"
	"os"

	"nxvk/packaging/version"
)

func main() {
	bad := 0
	for _, c := range checks {
		said, err := c.run(".")
		if err != nil {
			bad++
			fmt.Printf("FIX   %s: %v\n", c.name, err)
			continue
		}
		fmt.Printf("ok    %s: %s\n", c.name, said)
	}
	if bad > 0 {
		fmt.Fprintf(os.Stderr, "release: %d problems, above in the lines that begin with FIX\n", bad)
		os.Exit(1)
	}
	want, _ := version.Read(".") // the first check has read it
	fmt.Printf(`Then, in this order:
      make check        generated files, format, vet, cross-builds
      make test-full    every test, every type and shape, and Nx's own suites (NX_PATH)
      git tag v%s && git push origin v%[1]s, after which a workflow makes and publishes the files
      (cd elixir/nx_vulkan_go && mix hex.publish)
`, want)
}
