defmodule NxVulkanGo.Sampler.Draws do
  @moduledoc false
  # Gathers the messages of a run into tensors, and reports its progress.

  import Nx.Defn.Composite, only: [traverse: 2]

  require Logger

  alias NxVulkanGo.Sampler.{Layout, Progress, Run}

  # Statistics of a draw on the wire, in order, and the types that they get.
  @statistics [
    log_density: :f64,
    accept: :f64,
    step_size: :f64,
    energy: :f64,
    depth: :s64,
    steps: :s64,
    divergent: :u8
  ]
  @width length(@statistics)
  @steps Enum.find_index(@statistics, &match?({:step_size, _}, &1))
  @divergent Enum.find_index(@statistics, &match?({:divergent, _}, &1))

  @doc "Gathers all draws of a run; returns when it is over."
  @spec gather(Run.t(), Layout.t(), map, Progress.choose_sink()) :: map
  def gather(run, layout, options, sink) do
    progress = Progress.new(sink, options)
    state = %{parts: %{}, ends: %{}, counts: %{}, divergent: %{}, progress: progress}
    state = loop(run, options, state)
    Progress.finish(state.progress)
    ends = for chain <- 0..(options.chains - 1), do: Map.fetch!(state.ends, chain)
    warn_of_failures(ends)

    adapted = %{
      step_size: column_of(ends, :step, :f64),
      metric: one_row(layout, Enum.map(ends, & &1.metric)),
      starts: column_of(ends, :starts, :s64),
      failures: column_of(ends, :failures, :s64)
    }

    result = Map.merge(adapted, phase(state, layout, options.chains, :draws))

    if options.warmup_draws,
      do: Map.put(result, :warmup, phase(state, layout, options.chains, :warmup)),
      else: result
  end

  @doc "Streams the draws of a run, chunk by chunk."
  @spec stream((-> Run.t()), Layout.t(), map) :: Enumerable.t()
  def stream(start, layout, options) do
    Stream.resource(
      fn -> {start.(), options.chains} end,
      fn
        {run, 0} -> {:halt, {run, 0}}
        {run, left} -> run |> Run.next() |> chunk(layout, {run, left})
      end,
      fn {run, _left} -> Run.stop(run) end
    )
  end

  defp chunk({:chain, _chain, {:ok, _adapted}}, _layout, {run, left}), do: {[], {run, left - 1}}

  defp chunk({:draws, chain, phase, count, positions, statistics}, layout, state) do
    draws = layout |> Layout.rows(positions, {1, count}) |> traverse(&Nx.squeeze(&1, axes: [0]))
    stats = statistics |> stats({1, count}) |> traverse(&Nx.squeeze(&1, axes: [0]))
    {[%{chain: chain, phase: phase, draws: draws, stats: stats}], state}
  end

  defp column_of(ends, key, type),
    do: Nx.tensor(Enum.map(ends, &Map.fetch!(&1, key)), type: type, backend: Nx.BinaryBackend)

  defp warn_of_failures(ends) do
    case for(%{failures: n} = chain when n > 0 <- ends, do: chain) do
      [] ->
        :ok

      [%{failure: why} | _] = failed ->
        Logger.warning(
          "the log density had no value at #{failed |> Enum.map(& &1.failures) |> Enum.sum()} positions " <>
            "in #{length(failed)} of #{length(ends)} chains; the reason at the first one: #{why}. " <>
            "Trajectories ended before these positions, as at a divergence"
        )
    end
  end

  defp loop(_run, %{chains: chains}, %{ends: ends} = state) when map_size(ends) == chains,
    do: state

  defp loop(run, options, state) do
    case Run.next(run) do
      {:chain, chain, {:ok, adapted}} ->
        loop(run, options, put_in(state.ends[chain], adapted))

      {:draws, chain, phase, count, positions, statistics} ->
        state = add(state, {chain, phase}, count, positions, statistics)
        loop(run, options, %{state | progress: progress(state, chain, phase, statistics)})

      {:report, chains} ->
        loop(run, options, %{state | progress: Progress.add_report(state.progress, chains)})
    end
  end

  defp add(state, key, count, positions, statistics) do
    divergent = Enum.count(column(statistics, @divergent), &(&1 == 1))

    %{
      state
      | parts:
          Map.update(state.parts, key, [{positions, statistics}], &[{positions, statistics} | &1]),
        counts: Map.update(state.counts, key, count, &(&1 + count)),
        divergent: Map.update(state.divergent, key, divergent, &(&1 + divergent))
    }
  end

  defp progress(state, chain, phase, statistics) do
    Progress.add_draws(state.progress, chain, %{
      phase: phase,
      done: state.counts[{chain, phase}],
      divergent: state.divergent[{chain, phase}],
      step_size: statistics |> column(@steps) |> List.last()
    })
  end

  defp column(statistics, i), do: column(statistics, i * 8, (@width - i - 1) * 8)

  defp column(statistics, before, rest) do
    for <<_::binary-size(before), x::float-64-little, _::binary-size(rest) <- statistics>>, do: x
  end

  defp phase(state, layout, chains, phase) do
    case Map.get(state.counts, {0, phase}, 0) do
      # There are no tensors without elements.
      0 ->
        %{draws: nil, stats: nil}

      count ->
        parts = for chain <- 0..(chains - 1), do: Enum.reverse(state.parts[{chain, phase}])
        {positions, statistics} = parts |> Enum.concat() |> Enum.unzip()

        %{
          draws: Layout.rows(layout, IO.iodata_to_binary(positions), {chains, count}),
          stats: stats(IO.iodata_to_binary(statistics), {chains, count})
        }
    end
  end

  defp stats(bytes, {chains, count}) do
    table =
      bytes
      |> Nx.from_binary(:f64, backend: Nx.BinaryBackend)
      |> Nx.reshape({chains, count, @width})

    for {{name, type}, i} <- Enum.with_index(@statistics), into: %{} do
      {name, table[[.., .., i]] |> Nx.as_type(type)}
    end
  end

  defp one_row(layout, metrics) do
    layout
    |> Layout.rows(IO.iodata_to_binary(metrics), {length(metrics), 1})
    |> traverse(&Nx.squeeze(&1, axes: [1]))
  end
end
