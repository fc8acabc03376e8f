defmodule NxVulkanGo.Compiler.Operation do
  @moduledoc false
  # Builds the instruction of one operation of an expression. The callback of
  # NxVulkanGo.Backend does that: given placeholders instead of tensors, it returns the
  # instruction and does not send it (see NxVulkanGo.Backend.Eager.run/5). So arguments and
  # attributes of operations are known in one place, for compiled and for eager code, and a
  # new operation needs nothing here.

  alias Nx.Defn.{Expr, Tree}
  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend

  # Callbacks without operands, whose last argument has the options of the backend.
  @creation [:constant, :eye, :iota]

  @type instruction ::
          {:instruction, atom, T.t() | tuple, [T.t()], [term]}

  @doc "Returns the arguments of a node's callback, with `fun` applied to tensors."
  def map_args(%T{data: %Expr{}} = t, fun) do
    {args, nil} = Tree.apply_args(t, :scope, nil, fn child, nil -> {fun.(child), nil} end)
    args
  end

  @doc "Builds the instruction of a callback."
  @spec build(atom, T.t(), [term]) :: instruction
  def build(op, out, args) when op in @creation,
    do: apply(Backend, op, [out | args] ++ [:program])

  def build(op, out, args), do: apply(Backend, op, [out | args])

  @doc "Builds the instruction of a block; returns `:default` where the node does not know it."
  @spec build_block(struct, T.t() | tuple, [term]) :: instruction | :default
  def build_block(%module{} = struct, out, args) do
    if Backend.block_op(module), do: Backend.block(struct, out, args, nil), else: :default
  end
end
