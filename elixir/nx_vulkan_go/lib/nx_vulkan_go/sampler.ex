defmodule NxVulkanGo.Sampler do
  @moduledoc """
  Draws from a log density, with the No-U-Turn sampler on the node.

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

  The density is a function of unconstrained parameters and of data; it is traced
  once, with its gradient, and becomes a program of the node. What it is up to a
  constant factor does not matter. `NxVulkanGo.Sampler.Families` has densities to
  build it of, `NxVulkanGo.Sampler.Diagnostics` says whether the draws are good.

  Numbers in the function keep the precision of the model where they are operands of
  its parameters. `Nx.log(2)` is an f32 as everywhere in Nx: `compile/4` warns of it, and
  `Nx.log(Nx.tensor(2, type: :f64))` is what is meant.

  A density may loop and branch. The node computes one that does on its host, as it does
  where an operation has no kernel of leapfrog steps. Gradients of loops are Nx's: it
  differentiates a loop by its body, round by round in the order in which they are carried
  out, which is right where the rounds commute, as those that add to a sum.
  """

  alias NxVulkanGo.Sampler.{Draws, Leapfrog, Model, Options, Progress, Run, Session}

  @doc """
  The model of a log density.

  `template` is what the parameters look like: a tensor or template, or a container of
  them; types do not matter. `data` is a container of tensors; a function of one argument
  gets the parameters alone. `:type` of the options is that of the computation, `:f64` or
  `:f32`.

  Raises `ArgumentError` where the density is no scalar, does not depend on the parameters,
  has hooks or runtime calls, or cannot be computed by the node. Warns where a part of it has
  fewer digits than the type of the computation.
  """
  @spec compile((term, term -> Nx.Tensor.t()) | (term -> Nx.Tensor.t()), term, term, keyword) ::
          Model.t()
  def compile(log_density, template, data \\ [], options \\ []),
    do: Model.new(log_density, template, data, options)

  @doc """
  Puts the data of a model on a device, for more than one run or call.

  Options are `:server` and `:device` of the backend, and `:metric`, the diagonal of the
  inverse mass matrix as a container like the template; ones are the default.
  """
  @spec session(Model.t(), keyword) :: Session.t()
  def session(%Model{} = model, options \\ []), do: Session.new(model, options)

  @doc """
  Takes `k` leapfrog steps of the size `eps` (backward where it is negative).

  `q` and `p` are vectors of all parameters, or containers like the template. The answer
  is `{:ok, %{q: _, p: _, grad: _, log_density: _}}`, a row for each step: tensors of
  `Nx.BinaryBackend` of the shapes `{k, d}` and `{k}`; or `{:error, reason}`. One kernel takes
  all steps, 4096 at most.
  """
  @spec leapfrog(Session.t(), term, term, float, pos_integer) :: {:ok, map} | {:error, String.t()}
  def leapfrog(%Session{} = session, q, p, eps, k), do: Leapfrog.run(session, q, p, eps, k)

  @doc """
  Draws chains, as Stan does: warm-up with dual averaging of the step size and windows of
  a diagonal metric, then multinomial trajectories until they turn.

  ## Options

    * `:chains` (4), `:warmup` and `:draws` (1000 each)
    * `:seed` - an integer of 64 bits (0): the same model, options and device give the same bits
    * `:target` - the mean acceptance that the step size aims at (0.8)
    * `:max_depth` - a trajectory has at most 2^depth steps (10)
    * `:thin` - every so many draws are kept (1)
    * `:adapt` - `false` keeps `:step` and `:metric` as they are (`true`)
    * `:step` - the first step size, or a tensor of one for each chain, as a result has them;
      0, the default, has one found
    * `:metric` - the first diagonal of the inverse mass matrix, as for `session/2`, or with an
      axis of chains before, as a result has it
    * `:init` - where chains begin: a container like the template, also with an axis of chains
      before. Otherwise they are drawn from -2 to 2, again where no trajectory can set out from
      there: up to 100 times, the last half of them nearer and nearer to 0
    * `:warmup_draws` - whether the draws of warm-up are returned, under `:warmup` (`false`)
    * `:chunk` - draws a message (100)
    * `:progress` - `true`, the default, shows on a terminal, or in a Livebook by `Kino`, how far
      each chain of a run of more than a second is: phase, iterations, divergences, step size,
      speed and the time that is left. Where output is neither, and with `false`, nothing is
      shown. A function is called with
      `%{chain: _, phase: :warmup | :draws, draws: _, divergent: _, step_size: _, steps: _}` for
      each message of draws, and four times a second for chains that have gone on

  A model may be given with `:server` and `:device` instead of a session.

  ## Result

  A map of tensors of `Nx.BinaryBackend`:

    * `:draws` - like the template, with the axes `{chains, draws}` before
    * `:stats` - `:log_density`, `:accept`, `:step_size`, `:energy`, `:depth`, `:steps`
      and `:divergent`, each `{chains, draws}`
    * `:step_size` - `{chains}`, and `:metric`, like the template with an axis of chains before:
      what warm-up has found
    * `:starts` - `{chains}`: at how many positions each chain has tried to begin
    * `:failures` - `{chains}`: at how many positions the density had no value, as where a matrix
      is singular. A trajectory ends before such a position, which counts as a divergence; one
      warning says how often that was, and why

  A run goes on where another ended, without adapting, by what that has found:

      last = Nx.Defn.Composite.traverse(result.draws, & &1[[.., -1]])
      more = [init: last, step: result.step_size, metric: result.metric, adapt: false]
      Sampler.nuts(model, [warmup: 0] ++ more)

  Where the device is a processor, a density of few operations a step is computed by the
  node on the host, and else by a kernel; model and device alone decide.

  The run ends with the calling process. Raises `ArgumentError` for bad options, and
  `NxVulkanGo.Error` where a chain fails, as one that finds no point of finite density.
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
  The same chains as a stream of what the node sends, for runs that are too long to keep:
  `%{chain: _, phase: :warmup | :draws, draws: _, stats: _}`, with an axis of draws before
  those of the template. Chains run at the same time, and their chunks come as they are made;
  they wait where the consumer is slow, which has two chunks of each chain in its mailbox at most.

  The run begins when the stream is consumed, and ends when that does. Options are those of
  `nuts/2`, but for `:progress`.
  """
  @spec stream(Session.t(), keyword) :: Enumerable.t()
  def stream(%Session{} = session, options \\ []) do
    options = options |> Keyword.drop([:progress]) |> Options.validate!()
    Draws.stream(fn -> Run.start(session, options) end, session.model.layout, options)
  end
end
