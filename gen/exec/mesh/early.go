package mesh

import "slices"

// earlyBytes bounds the memory of early notices, about.
const earlyBytes = 16 << 20

// early keeps what other nodes tell of meshes that no session of this node has joined yet. Of a mesh it keeps maxEarly
// notices, and of as many meshes, within earlyBytes. A mesh that nobody joins makes room for later ones: whoever has begun it
// may be gone.
type early struct {
	meshes map[string]*earlyMesh
	order  []string // the ids, in order of their first notices
	bytes  int
}

type earlyMesh struct {
	notices []Notice
	bytes   int
}

// add keeps a notice.
func (e *early) add(n Notice) {
	m := e.meshes[n.Mesh]
	if m == nil {
		if e.meshes == nil {
			e.meshes = make(map[string]*earlyMesh)
		}
		m = &earlyMesh{}
		e.meshes[n.Mesh] = m
		e.order = append(e.order, n.Mesh)
	}
	if len(m.notices) == maxEarly {
		return
	}
	m.notices = append(m.notices, n)
	m.bytes += n.bytes()
	e.bytes += n.bytes()
	for len(e.order) > 1 && (len(e.order) > maxEarly || e.bytes > earlyBytes) {
		e.take(e.order[0])
	}
}

// take returns the notices of a mesh, and keeps them no longer.
func (e *early) take(id string) []Notice {
	m := e.meshes[id]
	if m == nil {
		return nil
	}
	delete(e.meshes, id)
	e.order = slices.DeleteFunc(e.order, func(other string) bool { return other == id })
	e.bytes -= m.bytes
	return m.notices
}

// bytes is about the memory of a notice.
func (n *Notice) bytes() int {
	size := 256 + len(n.Mesh) + len(n.Node) + len(n.What) + 8*len(n.Group)
	if n.Err != nil {
		size += len(n.Err.Error())
	}
	return size
}
