// Package chain takes leapfrog steps by shaders that clients bring, as eXMC does: SPIR-V
// that somebody else has compiled for one density. It checks the interface of a shader,
// joins calls that can share a dispatch, and puts right log densities that lag by one step.
//
// A shader can read and write anything in its buffers. So results are cleared before, and
// calls of different sessions never share a dispatch. A node takes shaders only if its
// owner allows them.
//
// The package refuses to know Erlang, and how instructions are computed. Start reading at
// Chains.Chain.
package chain
