package lowering

// FoldGrid spreads a number of workgroups over the dimensions of a grid. The grid
// may have more than are asked for; kernels check.
func (t *Target) FoldGrid(groups int) ([3]uint32, error) {
	var lim [3]int
	for i, m := range t.MaxGroups {
		lim[i] = int(m)
		if m == 0 {
			lim[i] = 65535
		}
	}
	x := min(groups, lim[0])
	y := min((groups+x-1)/x, lim[1])
	z := (groups + x*y - 1) / (x * y)
	if z > lim[2] {
		return [3]uint32{}, Unsupported("%d workgroups", groups)
	}
	return [3]uint32{uint32(x), uint32(y), uint32(z)}, nil
}
