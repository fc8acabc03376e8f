defmodule Suites.Source do
  @moduledoc """
  Compiles a file of tests that were written for `Nx.BinaryBackend` or for EXLA.

    * `==`, `!=`, `===` and `!==` compare tensors by what they hold: operands go through
      `Suites.Value.plain/1`. On `Nx.BinaryBackend` the elements are in the struct
      itself, on others a reference is.
    * So do what examples of documentation give and what is expected of them, which
      `ExUnit.DocTest` matches.
    * A module attribute that is read in a function goes through
      `Suites.Value.here/1`. Attributes are evaluated while compiling, when no backend
      of devices may be the default.
    * `test_backend/0` and `test_compiler/0`, by which Axon and Polaris ask where to run,
      are `Suites.backend/0` and `Suites.compiler/0`.
    * So are `EXLA.Backend`, with or without options, and `EXLA`. `EXLA.jit` and
      `EXLA.jit_apply` are those of `Suites.EXLA`.
  """

  alias Suites.Value

  @comparisons [:==, :!=, :===, :!==]
  # Their bodies are numerical definitions, where these operators are those of Nx.
  @numerical [:defn, :defnp]

  @doc "Compiles a file."
  def load(path) do
    path
    |> File.read!()
    |> Code.string_to_quoted!(file: path, columns: true)
    |> rewrite(:module)
    |> Code.compile_quoted(path)
  end

  @doc "Rewrites an example of documentation, as `ExUnit.DocTest` has quoted it."
  def example(form), do: Macro.prewalk(form, &example_call/1)

  defp example_call({{:., _, [_, :__test__]} = function, meta, [value, expected | where]}),
    do: {function, meta, [call(:plain, value), call(:plain, expected) | where]}

  defp example_call(form), do: form

  # `place` is :function where an attribute would be read at run time.
  defp rewrite({kind, _, _} = form, _) when kind in @numerical, do: form

  defp rewrite({:def, meta, [{:test_backend, _, _} = head | _]}, _),
    do: {:def, meta, [head, [do: quote(do: Suites.backend())]]}

  defp rewrite({:def, meta, [{:test_compiler, _, _} = head | _]}, _),
    do: {:def, meta, [head, [do: quote(do: Suites.compiler())]]}

  defp rewrite({:., meta, [{:__aliases__, _, [:EXLA]}, name]}, _) when name in [:jit, :jit_apply],
    do: {:., meta, [Suites.EXLA, name]}

  defp rewrite({:__aliases__, _, [:EXLA]}, _), do: quote(do: Suites.compiler())
  defp rewrite({:__aliases__, _, [:EXLA, :Backend]}, _), do: quote(do: Suites.backend())

  defp rewrite({{:__aliases__, _, [:EXLA, :Backend]}, _options}, _),
    do: quote(do: Suites.backend())

  defp rewrite({kind, meta, [head | body]}, _)
       when kind in [:def, :defp, :test, :setup, :setup_all],
       do: {kind, meta, [rewrite(head, :module) | rewrite(body, :function)]}

  defp rewrite({:doctest, meta, args}, :module) when is_list(args),
    do:
      {:__block__, [],
       [quote(do: require(Suites.DocTest)), {{:., meta, [Suites.DocTest, :doctest]}, meta, args}]}

  # Guards take the operators of Erlang alone.
  defp rewrite({:when, meta, args}, place) do
    {heads, [guard]} = Enum.split(args, -1)
    {:when, meta, rewrite(heads, place) ++ [guard]}
  end

  defp rewrite({operator, meta, [left, right]}, place) when operator in @comparisons,
    do:
      {operator, meta, [call(:plain, rewrite(left, place)), call(:plain, rewrite(right, place))]}

  defp rewrite({:@, _, [{name, _, context}]} = form, :function)
       when is_atom(name) and is_atom(context),
       do: call(:here, form)

  defp rewrite({form, meta, args}, place), do: {rewrite(form, place), meta, rewrite(args, place)}
  defp rewrite({left, right}, place), do: {rewrite(left, place), rewrite(right, place)}
  defp rewrite(list, place) when is_list(list), do: Enum.map(list, &rewrite(&1, place))
  defp rewrite(other, _), do: other

  defp call(name, form), do: quote(do: unquote(Value).unquote(name)(unquote(form)))
end
