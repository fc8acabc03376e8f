defmodule NxVulkanGo.Sampler.Progress do
  @moduledoc false
  # Shows the progress of the chains of a run: on a terminal, in a notebook, or by a
  # function of the caller. It knows the reports of a run, and nothing of draws.

  # Between reports of the node, in milliseconds.
  @every 250

  # A run that takes less is not worth a line.
  @quiet 1000

  # Of a terminal that does not say.
  @columns 80

  # More chains are shown together.
  @lines 8

  defstruct [:sink, :totals, :started, chains: %{}, shown: 0]

  @type sink ::
          nil
          | {:function, (map -> term)}
          | {:terminal, columns :: pos_integer, device :: IO.device()}
          | {:kino, kino :: module}
          | {:frame, kino :: module, frame :: term}

  @type chain :: %{
          phase: :warmup | :draws,
          done: non_neg_integer,
          divergent: non_neg_integer,
          step_size: float,
          steps: non_neg_integer,
          # in milliseconds: when the phase began, and when this was told
          since: integer,
          at: integer
        }

  @doc """
  Chooses where progress is shown. `true` is the terminal where output goes to one, else a
  notebook with Kino, else nothing.
  """
  @spec choose_sink(boolean | (map -> term)) :: sink
  def choose_sink(fun) when is_function(fun), do: {:function, fun}
  def choose_sink(false), do: nil

  def choose_sink(true) do
    case {IO.ANSI.enabled?(), :io.columns()} do
      {true, {:ok, columns}} -> {:terminal, columns, :stdio}
      # Without a shell, as in a script, nobody knows how wide the terminal is.
      {true, _} -> if script?(), do: {:terminal, @columns, :stdio}, else: notebook()
      {false, _} -> notebook()
    end
  end

  defp script?, do: Process.group_leader() == Process.whereis(:user)

  # Kino's processes run where a notebook has started it.
  defp notebook do
    if Code.ensure_loaded?(Kino) and Process.whereis(Kino.Supervisor) != nil, do: {:kino, Kino}
  end

  @doc "Returns the milliseconds between reports of the node; 0 is never."
  @spec report_interval(sink) :: non_neg_integer
  def report_interval(nil), do: 0
  def report_interval(_sink), do: @every

  @doc "Makes the state of a run that has not reported; options are those of the run."
  @spec new(sink, map) :: %__MODULE__{}
  def new(sink, options) do
    totals = %{warmup: options.warmup, draws: options.draws, chains: options.chains}
    %__MODULE__{sink: sink, totals: totals, started: now()}
  end

  @doc "Adds a report of the node, six numbers for each chain, and shows it."
  @spec add_report(%__MODULE__{}, binary, integer) :: %__MODULE__{}
  def add_report(progress, chains, now \\ now())
  def add_report(%{sink: nil} = progress, _chains, _now), do: progress

  def add_report(progress, chains, now) do
    rows =
      for <<warmup::float-64-little, draws::float-64-little, early::float-64-little,
            late::float-64-little, steps::float-64-little, step::float-64-little <- chains>> do
        {phase, done, divergent} =
          if draws > 0, do: {:draws, draws, late}, else: {:warmup, warmup, early}

        %{
          phase: phase,
          done: trunc(done),
          divergent: trunc(divergent),
          step_size: step,
          steps: trunc(steps)
        }
      end

    rows
    |> Enum.with_index()
    |> Enum.reduce(progress, fn {row, chain}, progress -> put(progress, chain, row, now) end)
    |> show(now)
  end

  @doc "Adds that draws of a chain have come; `row` has their number and statistics."
  @spec add_draws(%__MODULE__{}, non_neg_integer, map, integer) :: %__MODULE__{}
  def add_draws(progress, chain, row, now \\ now())
  def add_draws(%{sink: nil} = progress, _chain, _row, _now), do: progress

  def add_draws(progress, chain, row, now) do
    steps = progress.chains[chain][:steps] || 0
    put(progress, chain, Map.put(row, :steps, steps), now)
  end

  @doc "Shows the end of the run."
  @spec finish(%__MODULE__{}) :: :ok
  def finish(%{shown: 0}), do: :ok

  def finish(progress) do
    show(progress, now())
    :ok
  end

  # A report may be older than draws that have come.
  defp put(progress, chain, row, now) do
    case progress.chains[chain] do
      %{phase: :draws} when row.phase == :warmup ->
        progress

      %{phase: phase, done: done} when phase == row.phase and done >= row.done ->
        progress

      known ->
        row = Map.merge(row, %{since: since(progress, known, row), at: now})
        tell(progress.sink, chain, row)
        %{progress | chains: Map.put(progress.chains, chain, row)}
    end
  end

  # A phase has begun after the last that was told of the one before.
  defp since(progress, nil, _row), do: progress.started
  defp since(_progress, %{phase: phase, since: since}, %{phase: phase}), do: since
  defp since(_progress, known, _row), do: known.at

  defp tell({:function, fun}, chain, row) do
    fun.(%{
      chain: chain,
      phase: row.phase,
      draws: row.done,
      divergent: row.divergent,
      step_size: row.step_size,
      steps: row.steps
    })
  end

  defp tell(_sink, _chain, _row), do: :ok

  ## Text

  defp show(%{sink: {:function, _}} = progress, _now), do: progress
  defp show(%{chains: chains} = progress, _now) when chains == %{}, do: progress
  defp show(%{started: started} = progress, now) when now - started < @quiet, do: progress

  defp show(%{sink: {:terminal, columns, device}} = progress, now) do
    lines = for line <- lines(progress, now), do: String.slice(line, 0, columns - 1)
    up = if progress.shown > 0, do: IO.ANSI.cursor_up(progress.shown), else: ""
    IO.write(device, [up | Enum.map(lines, &["\r", IO.ANSI.clear_line(), &1, "\n"])])
    %{progress | shown: length(lines)}
  end

  defp show(%{sink: {:kino, kino}} = progress, now) do
    frame = Module.concat(kino, Frame).new()
    kino.render(frame)
    show(%{progress | sink: {:frame, kino, frame}}, now)
  end

  defp show(%{sink: {:frame, kino, frame}} = progress, now) do
    lines = lines(progress, now)
    text = Module.concat(kino, Text).new(Enum.join(lines, "\n"), terminal: true)
    Module.concat(kino, Frame).render(frame, text)
    %{progress | shown: length(lines)}
  end

  @doc "Formats the progress: a line for each chain, or one line for many chains."
  @spec lines(%__MODULE__{}, integer) :: [String.t()]
  def lines(%{totals: %{chains: count}} = progress, now) when count <= @lines do
    for chain <- 0..(count - 1), row = progress.chains[chain] do
      total = Map.fetch!(progress.totals, row.phase)

      Enum.join(
        [
          "chain #{chain}",
          String.pad_trailing(phase(row.phase), 7),
          String.pad_leading("#{row.done}/#{total}", 2 * width(progress.totals) + 1),
          "#{row.divergent} divergent",
          "step #{number(row.step_size)}",
          pace([row], progress, now)
        ],
        "  "
      )
    end
  end

  def lines(progress, now) do
    rows = Map.values(progress.chains)
    warm = Enum.count(rows, &(&1.phase == :warmup))
    steps = rows |> Enum.map(& &1.step_size) |> Enum.min_max()
    done = rows |> Enum.map(&if(&1.phase == :draws, do: &1.done, else: 0)) |> Enum.sum()
    %{chains: count, draws: draws} = progress.totals

    [
      Enum.join(
        [
          "#{count} chains",
          "#{warm} in warm-up",
          "#{done}/#{count * draws} draws",
          "#{rows |> Enum.map(& &1.divergent) |> Enum.sum()} divergent",
          "steps #{number(elem(steps, 0))} to #{number(elem(steps, 1))}",
          pace(rows, progress, now)
        ],
        "  "
      )
    ]
  end

  defp phase(:warmup), do: "warm-up"
  defp phase(:draws), do: "draws"

  defp width(%{warmup: warmup, draws: draws}),
    do: max(warmup, draws) |> Integer.to_string() |> String.length()

  # Iterations in a second, and the time that is left of the slowest chain.
  defp pace(rows, progress, now) do
    speeds = for row <- rows, do: {row, 1000 * row.done / max(now - row.since, 1)}
    speed = speeds |> Enum.map(&elem(&1, 1)) |> Enum.sum()
    left = speeds |> Enum.map(fn {row, speed} -> left(row, speed, progress.totals) end)

    case {Enum.all?(left, &(&1 == 0)), Enum.max(left)} do
      {true, _} -> "done in #{time((now - progress.started) / 1000)}"
      {_, :unknown} -> "#{speed(speed)}/s"
      {_, seconds} -> "#{speed(speed)}/s  #{time(seconds)} left"
    end
  end

  defp left(row, speed, totals) do
    later = if row.phase == :warmup, do: totals.draws, else: 0

    case totals[row.phase] - row.done + later do
      0 -> 0
      _ when speed == 0 -> :unknown
      iterations -> iterations / speed
    end
  end

  defp speed(x) when x < 10, do: :erlang.float_to_binary(x * 1.0, decimals: 1)
  defp speed(x), do: Integer.to_string(round(x))

  defp time(seconds) when seconds < 60, do: "#{ceil(seconds)} s"
  defp time(seconds) when seconds < 3600, do: "#{ceil(seconds / 60)} min"
  defp time(seconds), do: "#{Float.round(seconds / 3600, 1)} h"

  defp number(x) when x >= 0.001 and x < 1000, do: :erlang.float_to_binary(x, decimals: 3)
  defp number(x), do: :erlang.float_to_binary(x * 1.0, scientific: 1)

  defp now, do: System.monotonic_time(:millisecond)
end
