defmodule NxVulkanGo.Compiler.TracingBackend do
  @moduledoc false
  # A backend whose tensors are expressions: it hands every operation to Nx.Defn.Expr.
  # Nx.Defn.Evaluator calls the function of a reduction with tensors and refuses expressions;
  # with this backend it evaluates the function into an expression.

  @behaviour Nx.Backend

  alias Nx.Defn.Expr
  alias Nx.Tensor, as: T

  defstruct [:expr]

  @doc "Wraps a function of tensors as a function of expressions."
  def wrap_function(fun), do: fn a, b -> unwrap(fun.(wrap(a), wrap(b))) end

  @impl true
  def init(options), do: options

  Code.ensure_loaded!(Expr)

  for {name, arity} <- Nx.Backend.behaviour_info(:callbacks),
      function_exported?(Expr, name, arity),
      {name, arity} != {:init, 1} do
    args = Macro.generate_arguments(arity, __MODULE__)

    @impl true
    def unquote(name)(unquote_splicing(args)) do
      wrap(apply(Expr, unquote(name), unwrap(unquote(args))))
    end
  end

  defp wrap(%T{data: %Expr{} = expr} = t), do: %{t | data: %__MODULE__{expr: expr}}
  defp wrap(tuple) when is_tuple(tuple), do: map(tuple, &wrap/1)
  defp wrap(other), do: other

  defp unwrap(%T{data: %__MODULE__{expr: expr}} = t), do: %{t | data: expr}
  defp unwrap(list) when is_list(list), do: Enum.map(list, &unwrap/1)
  defp unwrap(tuple) when is_tuple(tuple), do: map(tuple, &unwrap/1)
  defp unwrap(other), do: other

  defp map(tuple, fun), do: tuple |> Tuple.to_list() |> Enum.map(fun) |> List.to_tuple()
end
