// Package nuts draws from a probability density by the No-U-Turn sampler, as
// Stan has it: multinomial weights along the trajectory and the generalised
// U-turn criterion (Betancourt, A Conceptual Introduction to Hamiltonian Monte
// Carlo, 2017; Hoffman and Gelman, 2014), a step size adapted by dual averaging
// and a diagonal metric adapted in growing windows.
//
// The package refuses to know what the density is and where it is computed: an
// Integrator takes the leapfrog steps. A chain depends on its seed, its number
// and the density alone, never on other chains or on time.
//
// Start reading at Chain.Run, then at transition.
package nuts
