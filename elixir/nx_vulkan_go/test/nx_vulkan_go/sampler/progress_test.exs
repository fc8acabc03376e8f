defmodule NxVulkanGo.Sampler.ProgressTest do
  use ExUnit.Case, async: true

  alias NxVulkanGo.Sampler
  alias NxVulkanGo.Sampler.Progress

  # What a notebook has of Kino.
  defmodule Kino do
    def render(frame), do: send(frame, {:rendered, self()})

    defmodule Frame do
      def new, do: self()
      def render(frame, text), do: send(frame, {:frame, text})
    end

    defmodule Text do
      def new(text, terminal: true), do: text
    end
  end

  defp report(chains) do
    for {warmup, draws, early, late, steps, size} <- chains, into: <<>> do
      for x <- [warmup, draws, early, late, steps, size], into: <<>>, do: <<x::float-64-little>>
    end
  end

  defp run(sink, chains), do: Progress.new(sink, %{chains: chains, warmup: 100, draws: 400})

  test "lines of a few chains" do
    {:ok, device} = StringIO.open("")
    progress = run({:terminal, 100, device}, 2)
    start = progress.started
    early = report([{50, 0, 2, 0, 100, 0.25}, {10, 0, 0, 0, 20, 12_345.0}])
    # A run that is over soon says nothing.
    progress = Progress.add_report(progress, early, start + 500)
    assert {"", ""} == StringIO.contents(device)

    later = report([{100, 100, 2, 3, 400, 0.5}, {60, 0, 0, 0, 120, 0.1}])
    progress = Progress.add_report(progress, later, start + 2000)
    {_, text} = StringIO.contents(device)
    assert text =~ "chain 0  draws    100/400  3 divergent  step 0.500  67/s  5 s left"
    assert text =~ "chain 1  warm-up   60/100  0 divergent  step 0.100  30/s  15 s left"
    refute text =~ IO.ANSI.cursor_up(2)

    # The next ones take their places, and older news changes nothing.
    done = %{phase: :draws, done: 400, divergent: 4, step_size: 0.5}

    progress =
      progress
      |> Progress.add_draws(0, done, start + 4000)
      |> Progress.add_draws(1, done, start + 4000)

    progress = Progress.add_report(progress, later, start + 4000)
    {_, all} = StringIO.contents(device)
    last = binary_part(all, byte_size(text), byte_size(all) - byte_size(text))
    assert last =~ IO.ANSI.cursor_up(2)
    assert last =~ "chain 0  draws    400/400  4 divergent  step 0.500  done in 4 s"
    assert last =~ "chain 1  draws    400/400"
    assert :ok = Progress.finish(progress)
  end

  test "a line of many chains, and a narrow terminal" do
    {:ok, device} = StringIO.open("")
    progress = run({:terminal, 40, device}, 9)
    rows = for i <- 1..9, do: {100, if(i > 3, do: 40, else: 0), 1, 2, 10, i / 10}
    progress = Progress.add_report(progress, report(rows), progress.started + 2000)

    assert [line] = Progress.lines(progress, progress.started + 2000)
    assert line =~ "9 chains  3 in warm-up  240/3600 draws  15 divergent  steps 0.100 to 0.900"
    {_, text} = StringIO.contents(device)
    assert text =~ String.slice(line, 0, 39)
    refute text =~ String.slice(line, 0, 40)
  end

  test "a notebook" do
    progress = run({:kino, Kino}, 1)
    told = report([{30, 0, 0, 0, 10, 0.5}])
    progress = Progress.add_report(progress, told, progress.started + 3000)
    assert_receive {:rendered, _}
    assert_receive {:frame, "chain 0  warm-up   30/100" <> _}
    Progress.add_report(progress, report([{40, 0, 0, 0, 10, 0.5}]), progress.started + 3500)
    assert_receive {:frame, "chain 0  warm-up   40/100" <> _}
    refute_received {:rendered, _}
  end

  test "where output is no terminal, and with false, nothing is shown or asked for" do
    assert Progress.choose_sink(false) == nil
    assert Progress.report_interval(nil) == 0

    assert ExUnit.CaptureIO.capture_io(fn ->
             # In a build with Kino its processes run, as in a notebook.
             notebook = if Process.whereis(Elixir.Kino.Supervisor), do: {:kino, Elixir.Kino}
             assert Progress.choose_sink(true) == notebook
             progress = run(nil, 1)
             told = report([{30, 0, 0, 0, 10, 0.5}])
             assert Progress.add_report(progress, told, progress.started + 9999) == progress
             assert Progress.finish(progress) == :ok
           end) == ""
  end

  test "a function is told of warm-up too" do
    # Slow enough that a report comes first: 2^10 steps for each of many iterations.
    model =
      Sampler.compile(&Nx.sum(Nx.multiply(-0.5, Nx.multiply(&1, &1))), Nx.template({300}, :f64))

    me = self()

    spawn_link(fn ->
      Sampler.nuts(model,
        chains: 1,
        warmup: 1_000_000,
        adapt: false,
        step: 1.0e-5,
        progress: &send(me, {:told, &1})
      )
    end)

    assert_receive {:told,
                    %{
                      chain: 0,
                      phase: :warmup,
                      draws: n,
                      divergent: 0,
                      step_size: 1.0e-5,
                      steps: steps
                    }}

    assert n > 0 and steps >= n
  end
end
