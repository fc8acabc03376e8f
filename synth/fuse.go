package synth

// Units cuts a graph into units, in an order that respects what depends on what.
// The same graph gives the same units.
func Units(g *Graph, t *Target) []Unit {
	units := make([]Unit, 0, len(g.Body))
	for i := range g.Body {
		units = append(units, single(&g.Body[i]))
	}
	return units
}
