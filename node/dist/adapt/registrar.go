package adapt

import "ergo.services/ergo/gen"

// Registrar is a gen.Registrar for a node whose names live in epmd, where
// Node.register puts them. It resolves nothing: Ergo would dial from within an
// actor's send, and a send to a node that is gone would hold the actor up for
// seconds. Peers come by themselves or by Node.Connect.
type Registrar struct{}

// Register routes all names here. Ergo looks at routes before it asks its
// Registrar, and has no Registrar any more when its network has stopped.
func (r Registrar) Register(gen.NodeRegistrar, gen.RegisterRoutes) (gen.StaticRoutes, error) {
	return gen.StaticRoutes{Routes: map[string]gen.NetworkRoute{".": {Resolver: r}}}, nil
}

func (r Registrar) Resolver() gen.Resolver { return r }

func (Registrar) Resolve(gen.Atom) ([]gen.Route, error)           { return nil, gen.ErrNoRoute }
func (Registrar) ResolveProxy(gen.Atom) ([]gen.ProxyRoute, error) { return nil, gen.ErrNoRoute }

func (Registrar) ResolveApplication(gen.Atom) ([]gen.ApplicationRoute, error) {
	return nil, gen.ErrNoRoute
}

func (Registrar) RegisterProxy(gen.Atom) error                        { return gen.ErrUnsupported }
func (Registrar) UnregisterProxy(gen.Atom) error                      { return gen.ErrUnsupported }
func (Registrar) RegisterApplicationRoute(gen.ApplicationRoute) error { return nil }
func (Registrar) UnregisterApplicationRoute(gen.Atom) error           { return nil }
func (Registrar) Nodes() ([]gen.Atom, error)                          { return nil, gen.ErrUnsupported }
func (Registrar) Config(...string) (map[string]any, error)            { return nil, gen.ErrUnsupported }
func (Registrar) ConfigItem(string) (any, error)                      { return nil, gen.ErrUnsupported }
func (Registrar) Event() (gen.Event, error)                           { return gen.Event{}, gen.ErrUnsupported }
func (Registrar) Info() gen.RegistrarInfo                             { return gen.RegistrarInfo{} }
func (Registrar) Terminate()                                          {}
func (Registrar) Version() gen.Version                                { return gen.Version{Name: "epmd"} }
