defmodule Suites.EXLA do
  @moduledoc "What the tests of EXLA call of it, with the compiler of the suite."

  @doc "As `Nx.Defn.jit/2`."
  def jit(function, options \\ []), do: Nx.Defn.jit(function, here(options))

  @doc "As `Nx.Defn.jit_apply/3`."
  def jit_apply(function, args, options \\ []),
    do: Nx.Defn.jit_apply(function, args, here(options))

  defp here(options), do: Keyword.put(options, :compiler, Suites.compiler())
end
