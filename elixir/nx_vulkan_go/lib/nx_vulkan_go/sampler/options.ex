defmodule NxVulkanGo.Sampler.Options do
  @moduledoc false
  # Checks the options of a run of chains, and encodes them as the map that the node takes.

  alias NxVulkanGo.Sampler.{Layout, Session}

  # The default and the rule of each option.
  @rows [
    chains: {4, {1, 16_384}},
    warmup: {1000, {0, 2 ** 30}},
    draws: {1000, {0, 2 ** 30}},
    seed: {0, {0, 2 ** 64 - 1}},
    target: {0.8, :part},
    max_depth: {10, {1, 20}},
    thin: {1, {1, 2 ** 30}},
    chunk: {100, {1, 2 ** 30}},
    warmup_draws: {false, :flag},
    adapt: {true, :flag},
    step: {0.0, :step},
    metric: {nil, :any},
    init: {nil, :any},
    progress: {true, :progress}
  ]

  @doc "Checks options, and adds defaults."
  @spec validate!(keyword) :: map
  def validate!(options) do
    options = Keyword.validate!(options, for({name, {default, _}} <- @rows, do: {name, default}))
    for {name, {_, rule}} <- @rows, do: check!(rule, name, options[name])

    if not options[:adapt] and options[:step] in [0, 0.0] do
      raise ArgumentError, "without adapt: true, :step must say the step size"
    end

    Map.new(options)
  end

  defp check!({low, high}, _name, n) when is_integer(n) and n >= low and n <= high, do: :ok
  defp check!({low, high}, name, n), do: bad!(name, "an integer from #{low} to #{high}", n)
  defp check!(:part, _name, x) when is_number(x) and x > 0 and x < 1, do: :ok
  defp check!(:part, name, x), do: bad!(name, "a number between 0 and 1", x)
  defp check!(:step, _name, x) when is_number(x) and x >= 0, do: :ok
  defp check!(:step, _name, %Nx.Tensor{}), do: :ok
  defp check!(:step, name, x), do: bad!(name, "a positive number, or 0 to have one found", x)
  defp check!(:flag, _name, flag) when is_boolean(flag), do: :ok
  defp check!(:flag, name, other), do: bad!(name, "true or false", other)
  defp check!(:progress, _name, how) when is_boolean(how) or is_function(how, 1), do: :ok
  defp check!(:progress, name, other), do: bad!(name, "true, false or a function of a map", other)
  defp check!(:any, _name, _value), do: :ok

  defp bad!(name, what, got),
    do: raise(ArgumentError, "#{inspect(name)} must be #{what}, got: #{inspect(got)}")

  @doc "Encodes the map of the call, without its data."
  @spec wire(map, Session.t()) :: map
  def wire(options, %Session{model: model, metric: metric}) do
    layout = model.layout

    options
    |> Map.take([:chains, :warmup, :draws, :seed, :max_depth, :thin, :chunk])
    |> Map.merge(%{
      warmup_draws: options.warmup_draws,
      adapt: options.adapt,
      target: options.target * 1.0,
      step: step!(options.step, options.chains),
      metric: Session.metric!(layout, options.metric, options.chains) || metric,
      init: init!(layout, options.init, options.chains),
      program: model.key,
      dim: layout.dim,
      type: NxVulkanGo.Encoding.type_to_atom(model.type)
    })
  end

  # A number for all chains, or one for each, as a result has them.
  defp step!(step, _chains) when is_number(step), do: step * 1.0

  defp step!(%Nx.Tensor{shape: {}} = step, chains),
    do: step |> Nx.broadcast({chains}) |> step!(chains)

  defp step!(%Nx.Tensor{shape: {chains}} = steps, chains) do
    bytes = steps |> Nx.backend_copy(Nx.BinaryBackend) |> Nx.as_type(:f64) |> Nx.to_binary()

    with {:ok, bytes} <- Layout.finite(bytes),
         true <- Enum.all?(for <<x::float-64-little <- bytes>>, do: x > 0) do
      bytes
    else
      _ -> bad!(:step, "positive numbers", steps)
    end
  end

  defp step!(%Nx.Tensor{} = steps, chains),
    do: bad!(:step, "a number, or a tensor with one for each of #{chains} chains", steps)

  defp init!(_layout, nil, _chains), do: nil

  defp init!(layout, init, chains) do
    case Layout.vectors(layout, init, chains) do
      {:ok, bytes} -> bytes
      {:error, why} -> raise ArgumentError, ":init #{why}, also with an axis of chains before"
    end
  end
end
