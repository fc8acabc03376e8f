defmodule NxVulkanGo.Compiler.Small do
  @moduledoc false
  # Computes calls of compiled functions with few elements in this VM, as single operations on
  # such tensors are: to ask the node takes longer. The operations are those of Backend.Literal,
  # which Nx.Defn.Evaluator calls one after another; so the results have the same bits, eager and
  # compiled.
  #
  # The instructions and the sizes decide whether a program is small, and its arguments whether a
  # call stays here: all must be in this VM.

  alias Nx.Defn.Evaluator
  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend, as: B
  alias NxVulkanGo.Backend.{Literal, Pointwise}
  alias NxVulkanGo.{Encoding, Ops, Options}

  @kinds [:create, :pointwise, :reduce, :arg_reduce, :movement]

  # Steps of an instruction, and those of an element where Pointwise does not compute it: about
  # 50 ns each. A program has at most so many for each element of the limit, which take less time
  # than a call of the node.
  @instruction 32
  @element 4
  @most_steps 8

  @pointwise Pointwise.ops()

  @typedoc "The elements of the largest tensor, and what computes the results from the arguments."
  @type t :: {pos_integer, ([(-> T.t())] -> [T.t()])}

  @doc """
  Makes the evaluation of a program in this VM, or nil where the program is not small. `outputs`
  are the expressions of its results, `lowered` their instructions.
  """
  @spec new([T.t()], map) :: t | nil
  def new(outputs, %{callbacks: {}, captured: [], loops: false, params: params, body: body}) do
    sizes = for {id, _, shape} <- params, into: %{}, do: {id, Tuple.product(shape)}

    with true <- Enum.all?(body, fn {op, _, _, _} -> kind(op) in @kinds end),
         {steps, sizes} = Enum.reduce(body, {0, sizes}, &count/2),
         most = sizes |> Map.values() |> Enum.max(fn -> 1 end),
         true <- most <= Options.vm_limit() and steps <= @most_steps * Options.vm_limit() do
      {most, Evaluator.__compile__(nil, [], fn _ -> List.to_tuple(outputs) end, [])}
    else
      false -> nil
    end
  end

  def new(_outputs, _lowered), do: nil

  # The table has no row for what only a program has.
  defp kind(op), do: with(%{kind: kind} <- Ops.get(op), do: kind)

  defp count({op, results, operands, _attrs}, {steps, sizes}) do
    sizes = for {id, _, shape} <- results, into: sizes, do: {id, Tuple.product(shape)}
    ids = for({id, _, _} <- results, do: id) ++ for(id <- operands, is_integer(id), do: id)
    elements = ids |> Enum.map(&Map.fetch!(sizes, &1)) |> Enum.max()
    each = if op in @pointwise, do: 1, else: @element
    {steps + @instruction + each * elements, sizes}
  end

  @doc """
  Returns the data of the results of a call, or nil where it is not of this VM. `tensors` are the
  arguments at the positions `inputs`.
  """
  @spec run(t | nil, [non_neg_integer], [T.t()]) :: [struct] | nil
  def run(nil, _inputs, _tensors), do: nil

  def run({most, evaluate}, inputs, tensors) do
    if most <= Options.vm_limit() and Enum.all?(tensors, &Literal.here?/1) do
      [results] = on_backend(fn -> evaluate.([params(inputs, tensors, 0)]) end)
      for result <- Tuple.to_list(results), do: literal(result).data
    end
  end

  # Evaluator takes them by position; those that are not used are not called.
  defp params([], [], _at), do: []

  defp params([at | inputs], [tensor | tensors], at),
    do: [fn -> literal(tensor) end | params(inputs, tensors, at + 1)]

  defp params(inputs, tensors, at), do: [nil | params(inputs, tensors, at + 1)]

  defp literal(%T{data: %B{}} = tensor), do: tensor

  defp literal(%T{type: type} = tensor),
    do: Literal.new(tensor, tensor |> Nx.to_binary() |> Encoding.encode(type), [])

  # Constants are made on the default backend.
  defp on_backend(fun) do
    case Nx.default_backend() do
      {B, _options} -> fun.()
      _other -> Nx.with_default_backend(B, fun)
    end
  end
end
