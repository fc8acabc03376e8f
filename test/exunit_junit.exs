defmodule ExUnitJUnit do
  @moduledoc """
  A formatter of ExUnit that writes the outcomes of a suite as JUnit XML to the file
  `JUNIT_FILE`: a test suite a module, a test case a test.

      elixir -r test/exunit_junit.exs -S mix test --formatter ExUnitJUnit --formatter ExUnit.CLIFormatter

  Excluded tests are skipped ones, and `setup_all` that fails is a case of its own. The
  published formatter, `junit_formatter`, is a package of Hex, which not every machine
  that runs these tests can reach.
  """
  use GenServer

  @impl true
  def init(_options), do: {:ok, []}

  @impl true
  def handle_cast({:test_finished, %ExUnit.Test{} = test}, cases),
    do: {:noreply, [test_case(test) | cases]}

  def handle_cast(
        {:module_finished, %ExUnit.TestModule{state: {:failed, failures}} = module},
        cases
      ) do
    text = ExUnit.Formatter.format_test_all_failure(module, failures, 1, :infinity, &plain/2)

    {:noreply,
     [
       %{module: inspect(module.name), name: "setup_all", time: 0, outcome: {:failure, text}}
       | cases
     ]}
  end

  def handle_cast({:suite_finished, _times}, cases) do
    File.write!(System.fetch_env!("JUNIT_FILE"), document(Enum.reverse(cases)))
    {:noreply, cases}
  end

  def handle_cast(_event, cases), do: {:noreply, cases}

  defp test_case(test) do
    outcome =
      case test.state do
        nil -> :passed
        {:failed, failures} -> {:failure, failure(test, failures)}
        {:skipped, reason} -> {:skipped, reason}
        {:excluded, reason} -> {:skipped, reason}
        {:invalid, module} -> {:failure, "setup_all of #{inspect(module.name)} failed"}
      end

    %{module: inspect(test.module), name: to_string(test.name), time: test.time, outcome: outcome}
  end

  defp failure(test, failures) do
    ExUnit.Formatter.format_test_failure(test, failures, 1, :infinity, &plain/2)
  end

  defp plain(:diff_enabled?, _), do: false
  defp plain(_key, text), do: text

  defp document(tests) do
    suites = tests |> Enum.group_by(& &1.module) |> Enum.sort() |> Enum.map(&suite/1)
    [~s(<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n), suites, "</testsuites>\n"]
  end

  defp suite({module, tests}) do
    failures = Enum.count(tests, &match?({:failure, _}, &1.outcome))
    skipped = Enum.count(tests, &match?({:skipped, _}, &1.outcome))
    time = tests |> Enum.map(& &1.time) |> Enum.sum()

    [
      ~s(<testsuite name="#{escape(module)}" tests="#{length(tests)}" failures="#{failures}" ),
      ~s(skipped="#{skipped}" time="#{seconds(time)}">\n),
      Enum.map(tests, &element/1),
      "</testsuite>\n"
    ]
  end

  defp element(test) do
    head =
      ~s(<testcase classname="#{escape(test.module)}" name="#{escape(test.name)}" time="#{seconds(test.time)}")

    case test.outcome do
      :passed ->
        [head, "/>\n"]

      {:skipped, reason} ->
        [head, ~s(><skipped message="#{escape(to_string(reason))}"/></testcase>\n)]

      {:failure, text} ->
        [head, ~s(><failure message="failed">#{escape(text)}</failure></testcase>\n)]
    end
  end

  defp seconds(microseconds), do: :erlang.float_to_binary(microseconds / 1_000_000, decimals: 6)

  # XML has no way to write most control characters.
  defp escape(text) do
    text
    |> String.replace_invalid()
    |> String.replace(
      ~r/[^\x{9}\x{A}\x{D}\x{20}-\x{D7FF}\x{E000}-\x{FFFD}\x{10000}-\x{10FFFF}]/u,
      "?"
    )
    |> String.replace("&", "&amp;")
    |> String.replace("<", "&lt;")
    |> String.replace(">", "&gt;")
    |> String.replace("\"", "&quot;")
  end
end
