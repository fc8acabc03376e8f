package synth

// Units cuts a graph into units, in an order that respects what depends on what.
// The same graph gives the same units.
func Units(g *Graph, t *Target) []Unit { return partition(g, t, capabilities{}) }

// Explain is Units, with what Unit.Why tells.
func Explain(g *Graph, t *Target) []Unit { return explained(g, t, capabilities{}) }
