"""Draws of the models of bench/sampler.exs by NumPyro, with the same data.

    python3 test/bench/numpyro_models.py cpu|cuda [chains]

One line a model: time of 1,000 draws after 1,000 of warm-up without compilation,
effective draws of the worst parameter, and those a second. Needs numpyro.
"""

import sys
import time

platform = sys.argv[1]
chains = int(sys.argv[2]) if len(sys.argv) > 2 else 1

import jax
import numpyro

numpyro.set_platform(platform)
jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.scipy.special import logsumexp
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS


def eight_schools(y, sigma):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([8]))
    numpyro.sample("y", dist.Normal(mu + tau * z, sigma), obs=y)


def three_regimes(y):
    mu = numpyro.sample("mu", dist.Normal(-2, 2))
    gaps = numpyro.sample("gaps", dist.Normal(0, 1).expand([2]))
    log_sigma = numpyro.sample("log_sigma", dist.Normal(-0.5, 0.5).expand([3]))
    weights = numpyro.sample("weights", dist.Normal(0, 1).expand([2]))
    means = mu + jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.exp(gaps))])
    logits = jnp.concatenate([weights, jnp.zeros(1)])
    logits = logits - logsumexp(logits)
    by_regime = logits + dist.Normal(means, jnp.exp(log_sigma)).log_prob(y[:, None])
    numpyro.factor("returns", logsumexp(by_regime, axis=1).sum())


def returns():
    """The data of bench/sampler.exs: normal numbers from two Weyl sequences."""
    i = np.arange(1, 201)
    u, v = np.modf(i * 0.6180339887498949)[0], np.modf(i * 0.7548776662466927)[0]
    z = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)
    mean, sd = np.array([-2.0, 0.0, 1.5])[i % 3], np.array([0.7, 0.4, 0.9])[i % 3]
    return mean + sd * z


schools = (np.array([28, 8, -3, 7, -1, 1, 18, 12.0]), np.array([15, 10, 16, 11, 9, 11, 10, 18.0]))
for name, model, data in [("eight schools", eight_schools, schools), ("three regimes", three_regimes, (returns(),))]:
    mcmc = MCMC(NUTS(model), num_warmup=1000, num_samples=1000, num_chains=chains,
                chain_method="vectorized", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), *data)
    start = time.perf_counter()
    mcmc.run(jax.random.PRNGKey(1), *data)
    draws = mcmc.get_samples(group_by_chain=True)
    jax.block_until_ready(draws)
    seconds = time.perf_counter() - start
    worst = min(float(np.min(effective_sample_size(np.asarray(d)))) for d in draws.values())
    print(f"{name}: NumPyro on {platform}, {chains} chains in {seconds:.2f} s, {worst / seconds:.1f} effective draws a second")
