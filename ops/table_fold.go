package ops

// notYet marks what the client still computes itself.
const notYet = "not yet"

func later(name string, kind Kind, arity int, doc string) Info {
	return Info{Name: name, Kind: kind, Arity: arity, Doc: doc, Infer: stated}.missing(notYet)
}

var laterRows = map[Op]Info{
	ReduceFun:    later("reduce", Reduce, 2, "A function folded over axes."),
	WindowReduce: later("window_reduce", Window, 2, "A function folded over windows."),
}
