defmodule Suites.Outcomes do
  @moduledoc "An ExUnit formatter that keeps what became of each test."

  use GenServer

  @doc "What became of each test: `{module, name, outcome}`."
  def all, do: Application.get_env(:suites, __MODULE__, [])

  @impl true
  def init(options), do: {:ok, %{options: options, outcomes: []}}

  @impl true
  def handle_cast({:test_finished, %ExUnit.Test{} = test}, state) do
    name = test.name |> Atom.to_string() |> String.replace_prefix("test ", "")
    outcome = {inspect(test.module), name, outcome(test)}
    {:noreply, %{state | outcomes: [outcome | state.outcomes]}}
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
    Application.put_env(:suites, __MODULE__, Enum.reverse(state.outcomes))
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
