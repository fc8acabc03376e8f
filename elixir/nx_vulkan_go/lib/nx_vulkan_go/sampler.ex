defmodule NxVulkanGo.Sampler do
  @moduledoc """
  Draws from a log density with the No-U-Turn sampler, which runs on the node.

      alias NxVulkanGo.Sampler

      log_density = fn %{mu: mu, log_sigma: log_sigma}, y ->
        z = Nx.divide(Nx.subtract(y, mu), Nx.exp(log_sigma))
        Nx.sum(Nx.subtract(Nx.multiply(-0.5, Nx.multiply(z, z)), log_sigma))
      end

      template = %{mu: Nx.template({}, :f64), log_sigma: Nx.template({}, :f64)}
      model = Sampler.compile(log_density, template, y)
      result = Sampler.nuts(model, chains: 4, seed: 1)
      Sampler.Diagnostics.summary(result)
      result.draws.mu

  The log density is a function of unconstrained parameters and of data, up to an additive
  constant. It is traced once, with its gradient, and becomes a program of the node.
  `NxVulkanGo.Sampler.Families` has densities of common distributions.
  `NxVulkanGo.Sampler.Diagnostics` tells how far the draws can be trusted.

  Numbers that are combined with the parameters have the precision of the model. But
  `Nx.log(2)` is an f32, as everywhere in Nx: write `Nx.log(Nx.tensor(2, type: :f64))`.
  `compile/4` warns where that loses digits.

  A density may loop and branch; the host of the node then computes it. The host also
  computes a density with an operation that the kernels of leapfrog steps lack. Gradients of
  loops are those of Nx, which applies the derivative of the body in the order of the rounds.
  They are right where the rounds commute, such as rounds that add to a sum.
  """

  alias NxVulkanGo.Sampler.{Draws, Leapfrog, Model, Options, Progress, Run, Session}

  @doc """
  Makes the model of a log density.

  `template` has the shapes of the parameters: a tensor or template, or a container of them;
  types have no effect. `data` is a container of tensors. A function of one argument gets the
  parameters only. The option `:type` is the type of the computation, `:f64` (default) or
  `:f32`.

  Raises `ArgumentError` where the density is not a real scalar, does not depend on the
  parameters, has hooks or runtime calls, or has an operation that the node lacks. Logs a
  warning where a part of the density has fewer digits than `:type`.
  """
  @spec compile((term, term -> Nx.Tensor.t()) | (term -> Nx.Tensor.t()), term, term, keyword) ::
          Model.t()
  def compile(log_density, template, data \\ [], options \\ []),
    do: Model.new(log_density, template, data, options)

  @doc """
  Puts the data of a model on a device, for several runs or calls.

  Options are `:server` and `:device` of the backend, and `:metric`: the diagonal of the
  inverse mass matrix, a container like the template (default: ones).
  """
  @spec session(Model.t(), keyword) :: Session.t()
  def session(%Model{} = model, options \\ []), do: Session.new(model, options)

  @doc """
  Takes `k` leapfrog steps of size `eps`; a negative `eps` steps backward.

  The position `q` and the momentum `p` are vectors of all `d` parameters, or containers like
  the template. Returns `{:ok, %{q: _, p: _, grad: _, log_density: _}}` with a row for each
  step: tensors of `Nx.BinaryBackend` of the shapes `{k, d}` and, for `:log_density`, `{k}`.
  Returns `{:error, reason}` for invalid arguments. One kernel takes all steps; `k` is at most
  4096.
  """
  @spec leapfrog(Session.t(), term, term, float, pos_integer) :: {:ok, map} | {:error, String.t()}
  def leapfrog(%Session{} = session, q, p, eps, k), do: Leapfrog.run(session, q, p, eps, k)

  @doc """
  Draws chains with the algorithm of Stan: the No-U-Turn sampler with multinomial sampling of
  trajectories (Hoffman and Gelman 2014, Betancourt 2017). Warm-up adapts the step size by dual
  averaging, and a diagonal metric in windows.

  ## Options

    * `:chains` - number of chains (default: 4)
    * `:warmup`, `:draws` - iterations of each chain (default: 1000 each)
    * `:seed` - an integer from 0 to 2^64 - 1 (default: 0). The same model, options and device
      give the same bits
    * `:target` - the mean acceptance that the adaptation of the step size aims at (default: 0.8)
    * `:max_depth` - a trajectory has at most 2^depth steps (default: 10)
    * `:thin` - keeps every n-th draw (default: 1)
    * `:adapt` - `false` keeps `:step` and `:metric` unchanged (default: `true`)
    * `:step` - the initial step size, or a tensor with one for each chain, such as `:step_size`
      of a result. 0 has the node find one (default: 0)
    * `:metric` - the initial diagonal of the inverse mass matrix, as for `session/2`; may have
      a first axis of chains, such as `:metric` of a result
    * `:init` - the initial position, a container like the template; may have a first axis of
      chains. By default each parameter is drawn uniformly from -2 to 2. A position without a
      trajectory is drawn again, up to 100 times, the last 50 nearer and nearer to 0
    * `:warmup_draws` - returns the draws of warm-up too, under `:warmup` (default: `false`)
    * `:chunk` - draws in a message of the node (default: 100)
    * `:progress` - where the progress of a run of more than a second is shown: phase,
      iterations, divergences, step size, speed and remaining time of each chain.
      * `true` (default) - on a terminal, or by `Kino` in Livebook; elsewhere nowhere
      * `false` - nowhere
      * a function - is called with
        `%{chain: _, phase: :warmup | :draws, draws: _, divergent: _, step_size: _, steps: _}` for
        each message of draws, and four times a second for each chain that has advanced

  Instead of a session a model may be given, with `:server` and `:device` among the options.

  ## Result

  A map of tensors of `Nx.BinaryBackend`:

    * `:draws` - a container like the template, with two more axes in front, `{chains, draws}`
    * `:stats` - `:log_density`, `:accept`, `:step_size`, `:energy`, `:depth`, `:steps`
      and `:divergent`, each `{chains, draws}`
    * `:step_size` - `{chains}`: the adapted step sizes
    * `:metric` - like the template, with a first axis of chains: the adapted metric
    * `:starts` - `{chains}`: the number of initial positions that each chain has tried
    * `:failures` - `{chains}`: the number of positions where the density had no value, such as
      those of a singular matrix. A trajectory ends before such a position, as at a divergence.
      A warning has the number and the reason

  A run can continue another one without adapting again:

      last = Nx.Defn.Composite.traverse(result.draws, & &1[[.., -1]])
      more = [init: last, step: result.step_size, metric: result.metric, adapt: false]
      Sampler.nuts(model, [warmup: 0] ++ more)

  Kernels compute the density. Where the device is a processor, the host computes a density
  of few operations. That depends on the model and the device only.

  The run ends when the calling process ends. Raises `ArgumentError` for invalid options, and
  `NxVulkanGo.Error` where a chain fails, such as one without an initial position of finite
  density.
  """
  @spec nuts(Session.t() | Model.t(), keyword) :: map
  def nuts(session_or_model, options \\ [])

  def nuts(%Model{} = model, options) do
    {place, options} = Keyword.split(options, [:server, :device])
    nuts(session(model, place), options)
  end

  def nuts(%Session{} = session, options) do
    options = Options.validate!(options)
    sink = Progress.choose_sink(options.progress)
    run = Run.start(session, options, Progress.report_interval(sink))

    try do
      Draws.gather(run, session.model.layout, options, sink)
    after
      Run.stop(run)
    end
  end

  @doc """
  Draws the chains of `nuts/2` as a stream, for runs that are too long to keep in memory.

  Elements are chunks of draws of one chain:
  `%{chain: _, phase: :warmup | :draws, draws: _, stats: _}`, with a first axis of draws. Chains
  run at the same time, and chunks come in the order in which they are made. Chains wait for a
  slow consumer, which has at most two chunks of each chain in its mailbox.

  The run begins when the stream is consumed, and ends with the consumption. Options are those
  of `nuts/2`, except for `:progress`.
  """
  @spec stream(Session.t(), keyword) :: Enumerable.t()
  def stream(%Session{} = session, options \\ []) do
    options = options |> Keyword.drop([:progress]) |> Options.validate!()
    Draws.stream(fn -> Run.start(session, options) end, session.model.layout, options)
  end
end
