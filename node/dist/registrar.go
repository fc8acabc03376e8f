package dist

import "ergo.services/ergo/gen"

// registrar is Ergo's registrar for a node whose names live in epmd, where
// Node.register puts them. It resolves nothing: Ergo would dial from within an
// actor's send, and a send to a node that is gone would hold the actor up for
// seconds. Peers come by themselves or by Node.Connect.
type registrar struct{}

// Register routes all names here. Ergo looks at routes before it asks its
// registrar, of which it has none any more when its network has stopped.
func (r registrar) Register(gen.NodeRegistrar, gen.RegisterRoutes) (gen.StaticRoutes, error) {
	return gen.StaticRoutes{Routes: map[string]gen.NetworkRoute{".": {Resolver: r}}}, nil
}

func (r registrar) Resolver() gen.Resolver { return r }

func (registrar) Resolve(gen.Atom) ([]gen.Route, error)           { return nil, gen.ErrNoRoute }
func (registrar) ResolveProxy(gen.Atom) ([]gen.ProxyRoute, error) { return nil, gen.ErrNoRoute }

func (registrar) ResolveApplication(gen.Atom) ([]gen.ApplicationRoute, error) {
	return nil, gen.ErrNoRoute
}

func (registrar) RegisterProxy(gen.Atom) error                        { return gen.ErrUnsupported }
func (registrar) UnregisterProxy(gen.Atom) error                      { return gen.ErrUnsupported }
func (registrar) RegisterApplicationRoute(gen.ApplicationRoute) error { return nil }
func (registrar) UnregisterApplicationRoute(gen.Atom) error           { return nil }
func (registrar) Nodes() ([]gen.Atom, error)                          { return nil, gen.ErrUnsupported }
func (registrar) Config(...string) (map[string]any, error)            { return nil, gen.ErrUnsupported }
func (registrar) ConfigItem(string) (any, error)                      { return nil, gen.ErrUnsupported }
func (registrar) Event() (gen.Event, error)                           { return gen.Event{}, gen.ErrUnsupported }
func (registrar) Info() gen.RegistrarInfo                             { return gen.RegistrarInfo{} }
func (registrar) Terminate()                                          {}
func (registrar) Version() gen.Version                                { return gen.Version{Name: "epmd"} }
