package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"nxvk/vulkan"
)

// devices lists what this machine has.
func devices(_ context.Context, args []string) error {
	f := flags("devices")
	if err := parse(f, args); err != nil {
		return err
	}
	if err := noArgs(f); err != nil {
		return err
	}
	infos, err := vulkan.Devices()
	if err != nil && !errors.Is(err, vulkan.ErrNoVulkan) {
		return err
	}
	if len(infos) == 0 {
		fmt.Println("no Vulkan device; the node computes on the host (nxvk-node doctor says what to install)")
		return nil
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "INDEX\tNAME\tKIND\tMEMORY\tVULKAN\tDRIVER\tUUID")
	for _, i := range infos {
		fmt.Fprintf(w, "%d\t%s\t%v\t%.1f GiB\t%v\t%s\t%s\n",
			i.Index, i.Name, i.Kind, float64(i.Memory)/(1<<30), i.APIVersion, i.Driver, i.UUID)
	}
	return w.Flush()
}
