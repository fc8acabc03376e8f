defmodule NxVulkanGo.Examples do
  @moduledoc false
  # The examples of a function's documentation, compared as numbers: what a doctest
  # compares as text and refuses for the last digit.

  import ExUnit.Assertions
  require Nx

  @number ~r/[+-]?\d+\.\d+(e[+-]?\d+)?/

  @doc """
  Evaluates the examples of a function. Numbers may differ by `tolerance` times
  the largest of the tensor; examples that contain `except` are left out. Returns how
  many print other digits than the documentation.
  """
  def check!(module, {name, arity}, tolerance, except \\ nil) do
    groups =
      for group <- groups(module, name, arity), except == nil or not (group =~ except), do: group

    assert groups != [], "#{name}/#{arity} has no examples"
    Enum.count(groups, &(check_group!(&1, tolerance) == :digits))
  end

  # Lines that a doctest runs together: without an empty one between them.
  defp groups(module, name, arity) do
    {:docs_v1, _, _, _, _, _, docs} = Code.fetch_docs(module)
    [text] = for {{:function, ^name, ^arity}, _, _, %{"en" => text}, _} <- docs, do: text

    text
    |> String.split(~r/\n[ \t]*\n/)
    |> Enum.map(&unindent/1)
    |> Enum.filter(&(String.starts_with?(&1, "iex>") and not (&1 =~ ~r/^\*\* \(/m)))
  end

  defp unindent(text),
    do: text |> String.split("\n") |> Enum.map_join("\n", &String.trim_leading/1) |> String.trim()

  defp check_group!(group, tolerance) do
    steps = String.split(group, ~r/^iex>/m, trim: true)

    # What a line imports is there for those after it.
    start = {[], Code.env_for_eval(__ENV__), :exact}

    {_, _, result} =
      Enum.reduce(steps, start, fn step, {binding, env, result} ->
        {code, expected} =
          step |> String.split("\n", trim: true) |> Enum.split_while(&(not expected?(&1, step)))

        source = Enum.map_join(code, "\n", &String.replace_prefix(&1, "...>", ""))
        quoted = Code.string_to_quoted!(source)
        {value, binding, env} = Code.eval_quoted_with_env(quoted, binding, env)

        one =
          if expected == [],
            do: :exact,
            else: compare!(source, value, Enum.join(expected, "\n"), tolerance)

        {binding, env, if(one == :exact, do: result, else: one)}
      end)

    result
  end

  # The first line is code, and so are those that continue it.
  defp expected?(line, step),
    do: not String.starts_with?(line, "...>") and not String.starts_with?(step, line)

  defp compare!(source, %Nx.Tensor{} = value, expected, tolerance) do
    actual = value |> inspect() |> unindent()
    assert skeleton(actual) == skeleton(expected), "#{source}\n#{actual}\nis not\n#{expected}"
    pairs = Enum.zip(numbers(actual), numbers(expected))
    scale = pairs |> Enum.map(fn {_, e} -> abs(e) end) |> Enum.max(fn -> 0.0 end)

    for {a, e} <- pairs, abs(a - e) > tolerance * scale do
      flunk("#{source}\n#{a} is not #{e}:\n#{actual}")
    end

    if actual == expected, do: :exact, else: :digits
  end

  defp compare!(source, value, expected, _tolerance) do
    {expected, _} = Code.eval_string(expected, [], __ENV__)
    assert value == expected, source
    :exact
  end

  defp skeleton(text), do: Regex.replace(@number, text, "_")

  defp numbers(text) do
    for [number | _] <- Regex.scan(@number, text), do: number |> Float.parse() |> elem(0)
  end
end
