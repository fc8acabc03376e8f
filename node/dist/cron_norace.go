//go:build !race

package dist

import "ergo.services/ergo/gen"

func settle(gen.Node) error { return nil }
