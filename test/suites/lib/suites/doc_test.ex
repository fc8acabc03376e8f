defmodule Suites.DocTest do
  @moduledoc "`ExUnit.DocTest.doctest/2` whose examples are compared as `Suites.Source` compares."

  defmacro doctest(module, options \\ []) do
    tests = quote do: ExUnit.DocTest.doctest(unquote(module), unquote(options))
    tests |> Macro.expand_once(__CALLER__) |> Macro.prewalk(&here/1)
  end

  @doc "As what `ExUnit.DocTest` makes of a module."
  def __doctests__(module, options) do
    for {name, test, tags} <- ExUnit.DocTest.__doctests__(module, options),
        do: {name, Suites.Source.example(test), tags}
  end

  defp here({{:., meta, [_, :__doctests__]}, call, args}),
    do: {{:., meta, [__MODULE__, :__doctests__]}, call, args}

  defp here(form), do: form
end
