package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"nxvk/vulkan"
)

// devices lists the Vulkan devices of this machine.
func devices(_ context.Context, args []string) error {
	f := flags("devices")
	asJSON := f.Bool("json", false, "print a JSON list of objects, for programs")
	if err := f.parse(args); err != nil {
		return err
	}
	if err := f.noArgs(); err != nil {
		return err
	}
	infos, err := vulkan.Devices()
	if err != nil && !errors.Is(err, vulkan.ErrNoVulkan) {
		return err
	}
	if *asJSON {
		return printDevices(os.Stdout, infos)
	}
	if len(infos) == 0 {
		fmt.Println("no Vulkan device, so the node computes on the host; nxvk-node doctor says what to install")
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

// listedDevice is a device in the output of --json.
type listedDevice struct {
	Index      int    `json:"index"`
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Memory     uint64 `json:"memory"` // bytes
	Vulkan     string `json:"vulkan"`
	Driver     string `json:"driver"`
	DriverInfo string `json:"driver_info"`
	UUID       string `json:"uuid"`
}

// printDevices writes a JSON list with an object for each device.
func printDevices(out io.Writer, infos []vulkan.Info) error {
	list := make([]listedDevice, len(infos))
	for i, x := range infos {
		list[i] = listedDevice{x.Index, x.Name, x.Kind.String(), x.Memory, x.APIVersion.String(), x.Driver, x.DriverInfo, x.UUID}
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(list)
}
