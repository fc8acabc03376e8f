defmodule Suites.Known do
  @moduledoc """
  The tests that are known to fail, and why: `known/NAME.exs` is a map of files to
  maps of causes to tests. A suite that is compiled and has none of its own has that of
  the one that is not. A cause that is `{:maybe, text}` depends on the device or on
  time: its tests may pass.
  """

  @folder Path.expand("../../known", __DIR__)

  @doc "The known failures of a file: causes by test."
  def read(name, file) do
    causes =
      case Enum.find(paths(name), &File.exists?/1) do
        nil -> %{}
        path -> path |> Code.eval_file() |> elem(0) |> Map.get(file, %{})
      end

    for {cause, tests} <- causes, test <- tests, into: %{}, do: {test, cause}
  end

  defp paths(name) do
    for name <- [name, String.replace_suffix(name, "_compiled", "")],
        do: Path.join(@folder, name <> ".exs")
  end

  @doc """
  Compares outcomes with what is known. Returns lines to print and a summary.
  """
  def compare(outcomes, known, verbose) do
    failed = for {_, test, {:failed, text}} <- outcomes, do: {test, text}
    passed = for {_, test, :passed} <- outcomes, do: test
    skipped = Enum.count(outcomes, &match?({_, _, :skipped}, &1))

    unknown = for {test, text} <- failed, not Map.has_key?(known, test), do: {test, text}

    stale =
      for {test, cause} <- known, is_binary(cause), not List.keymember?(failed, test, 0), do: test

    lines =
      for({test, text} <- unknown, do: "FAILED #{test}\n#{text}") ++
        for(test <- stale, do: "PASSED, but known to fail: #{test}") ++
        for {test, text} <- failed,
            cause = known[test],
            do: known_line(test, cause, text, verbose)

    text =
      "#{length(passed)} passed, #{length(failed)} failed (#{length(failed) - length(unknown)} known), " <>
        "#{skipped} skipped"

    verdict = if unknown == [] and stale == [] and passed != [], do: "::pass", else: "::fail"
    {lines, %{verdict: verdict, text: text}}
  end

  defp known_line(test, {:maybe, cause}, text, verbose),
    do: known_line(test, cause, text, verbose)

  defp known_line(test, cause, text, true), do: "known: #{test}: #{cause}\n#{text}"
  defp known_line(test, cause, _text, false), do: "known: #{test}: #{cause}"
end
