defmodule Suites.Outcomes do
  @moduledoc "An ExUnit formatter that keeps what became of each test, and how long it took."

  use GenServer

  @doc "What became of each test: `{module, name, outcome}`."
  def all, do: elem(ended(), 0)

  @doc "The tests that took longest, at most so many: `{name, milliseconds}`."
  def slowest(count) do
    ended() |> elem(1) |> Enum.sort_by(fn {_, time} -> -time end) |> Enum.take(count)
  end

  defp ended, do: Application.get_env(:suites, __MODULE__, {[], []})

  @impl true
  def init(options), do: {:ok, %{options: options, outcomes: [], times: []}}

  @impl true
  def handle_cast({:test_finished, %ExUnit.Test{} = test}, state) do
    name = test.name |> Atom.to_string() |> String.replace_prefix("test ", "")
    outcome = {inspect(test.module), name, outcome(test)}
    times = [{name, div(test.time, 1000)} | state.times]
    {:noreply, %{state | outcomes: [outcome | state.outcomes], times: times}}
  end

  # Tests of a module whose setup_all failed have no event of their own.
  def handle_cast(
        {:module_finished, %ExUnit.TestModule{state: {:failed, failures}} = module},
        state
      ) do
    text = ExUnit.Formatter.format_test_all_failure(module, failures, 0, 120, &plain/2)

    {:noreply,
     %{state | outcomes: [{inspect(module.name), "setup_all", {:failed, text}} | state.outcomes]}}
  end

  def handle_cast({:suite_finished, _times}, state) do
    Application.put_env(:suites, __MODULE__, {Enum.reverse(state.outcomes), state.times})
    {:noreply, state}
  end

  def handle_cast(_event, state), do: {:noreply, state}

  defp outcome(%{state: nil}), do: :passed

  defp outcome(%{state: {:failed, failures}} = test),
    do: {:failed, ExUnit.Formatter.format_test_failure(test, failures, 0, 120, &plain/2)}

  defp outcome(%{state: {kind, _}}) when kind in [:excluded, :skipped], do: :skipped

  defp outcome(%{state: {:invalid, module}}),
    do: {:failed, "setup_all of #{inspect(module.name)}"}

  defp plain(_key, text), do: text
end
