defmodule Nx.Vulkan.ChainShaderSpecs do
  @moduledoc """
  The densities of eXMC's notebooks, from which `Nx.Vulkan.Synthesis` makes leapfrog shaders, and
  the push blocks of their chains.

  The parameters `q` are independent and unconstrained, and the density of each has the same
  numbers, which the push block carries. `q` is the logit of a beta variable, and the logarithm of
  a gamma or lognormal variable; the density includes the Jacobian. Shaders compute f32, so
  their chains are those of `Nx.Vulkan.NativeV.leapfrog_chain_synth/6`:

      spec = ChainShaderSpecs.gamma()
      {:ok, path} = Synthesis.compile(spec)
      push = ChainShaderSpecs.gamma_push(d, k, eps, alpha, beta, logp_const)
      {:ok, {q, p, grad, logp}} = NativeV.leapfrog_chain_synth(q, p, inverse_mass, push, k, path)

  `NxVulkanGo.Sampler.Families` has more densities, in f64, and needs no shader.
  """

  @enforce_keys [:name, :params, :log_density, :gradient]
  defstruct [:name, :params, :log_density, :gradient, functions: ""]

  @typedoc """
  `params` are the names of the numbers. `log_density` and `gradient` are GLSL expressions of
  these and of `q`, for one parameter. `functions` are the GLSL functions that they call.
  """
  @type t :: %__MODULE__{
          name: String.t(),
          params: [String.t()],
          log_density: String.t(),
          gradient: String.t(),
          functions: String.t()
        }

  @doc "Beta(alpha, beta) on the logit."
  @spec beta :: t
  def beta do
    %__MODULE__{
      name: "beta",
      params: ~w(alpha beta logp_const),
      functions:
        "float softplus(float x) { return max(x, 0.0) + log(1.0 + exp(-abs(x))); }\n" <>
          "float sigmoid(float x) { return exp(-softplus(-x)); }\n",
      log_density: "logp_const - alpha * softplus(-q) - beta * softplus(q)",
      gradient: "alpha - (alpha + beta) * sigmoid(q)"
    }
  end

  @doc "Gamma(alpha, beta), of shape and rate, on the logarithm."
  @spec gamma :: t
  def gamma do
    %__MODULE__{
      name: "gamma",
      params: ~w(alpha beta logp_const),
      log_density: "logp_const + alpha * q - beta * exp(q)",
      gradient: "alpha - beta * exp(q)"
    }
  end

  @doc "Lognormal(mu, sigma) on the logarithm: a normal density."
  @spec lognormal :: t
  def lognormal do
    %__MODULE__{
      name: "lognormal",
      params: ~w(mu sigma logp_const),
      log_density: "logp_const - 0.5 * ((q - mu) / sigma) * ((q - mu) / sigma)",
      gradient: "(mu - q) / (sigma * sigma)"
    }
  end

  for {name, [a, b, c]} <- [
        beta: [:alpha, :beta, :logp_const],
        gamma: [:alpha, :beta, :logp_const],
        lognormal: [:mu, :sigma, :logp_const]
      ] do
    @doc """
    Makes the push block of `k` steps of size `eps` with `n` parameters: the header of
    `Nx.Vulkan.NativeV`, which counts three numbers of data, and these numbers. `logp_const` is
    added to the log density of each parameter.
    """
    @spec unquote(:"#{name}_push")(pos_integer, pos_integer, number, number, number, number) ::
            binary
    def unquote(:"#{name}_push")(
          n,
          k,
          eps,
          unquote(Macro.var(a, nil)),
          unquote(Macro.var(b, nil)),
          unquote(Macro.var(c, nil))
        ),
        do: push(n, k, eps, [unquote_splicing(Enum.map([a, b, c], &Macro.var(&1, nil)))])
  end

  defp push(n, k, eps, numbers) do
    header =
      <<k::32-little, length(numbers)::32-little, n::32-little, 0::32, eps::float-32-little>>

    for x <- numbers, into: header, do: <<x::float-32-little>>
  end
end
