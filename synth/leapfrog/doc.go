// Package leapfrog makes one kernel of many leapfrog steps of a Hamiltonian (Neal,
// MCMC using Hamiltonian dynamics, 2011) for a density that is straight-line code.
// A workgroup is an instance. Values that many invocations read lie in shared
// memory; each reader computes the others itself.
//
// Reductions over the same long axis are fused into one pass (a sweep): each
// invocation handles one index and keeps all partial results in registers. Orders
// of summation follow from shapes, so draws do not depend on the number of chains.
package leapfrog
