defmodule NxVulkanGo.Compiler.Operation do
  @moduledoc false
  # The instruction of one operation of an expression. It is the one that the
  # callback of NxVulkanGo.Backend sends when it gets tensors: given placeholders,
  # it returns the instruction instead (see NxVulkanGo.Backend.Eager.run/5). So there is
  # one place that knows arguments and attributes of operations, for compiled and
  # for eager code, and a new operation needs nothing here.

  alias Nx.Defn.{Expr, Tree}
  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend

  # Callbacks that make a tensor of nothing take the options of the backend last.
  @creation [:constant, :eye, :iota]

  @type instruction ::
          {:instruction, atom, T.t() | tuple, [T.t()], [term]}

  @doc "The arguments of the callback for a node, with `fun` applied to its tensors."
  def map_args(%T{data: %Expr{}} = t, fun) do
    {args, nil} = Tree.apply_args(t, :scope, nil, fn child, nil -> {fun.(child), nil} end)
    args
  end

  @doc "The instruction of a callback."
  @spec build(atom, T.t(), [term]) :: instruction
  def build(op, out, args) when op in @creation,
    do: apply(Backend, op, [out | args] ++ [:program])

  def build(op, out, args), do: apply(Backend, op, [out | args])

  @doc "The instruction of a block, or `:default` where the node does not know it."
  @spec build_block(struct, T.t() | tuple, [term]) :: instruction | :default
  def build_block(%module{} = struct, out, args) do
    if Backend.block_op(module), do: Backend.block(struct, out, args, nil), else: :default
  end
end
