defmodule Suites.Numbers do
  @moduledoc "Runs a function here and on `Nx.BinaryBackend`, whose numbers are the measure."

  alias Nx.Defn.{Composite, Evaluator}

  @doc "What a function says of data on `Nx.BinaryBackend`, and of them on the backend of the suite."
  def both(compiler, data, fun) do
    expected = on({Nx.BinaryBackend, Evaluator}, fn -> fun.(data) end)
    here = {Suites.backend(), compiler}
    {expected, on(here, fn -> data |> Suites.Value.here() |> fun.() end)}
  end

  @doc "Runs a function with a default backend and a default compiler."
  def on({backend, compiler}, fun) do
    options = Nx.Defn.default_options(compiler: compiler)

    try do
      Nx.with_default_backend(backend, fun)
    after
      Nx.Defn.default_options(options)
    end
  end

  @doc "The tensors of a container."
  def leaves(container), do: Composite.flatten_list([container])

  @doc "A container with a function of the tensors of two."
  def zip(left, right, fun) do
    {zipped, []} =
      Composite.traverse(left, leaves(right), fn l, [r | rest] -> {fun.(l, r), rest} end)

    zipped
  end
end
