defmodule NxVulkanGo.Backend.Validation do
  @moduledoc false
  # Checks values of operands as Nx.BinaryBackend does. Only scalars that the caller wrote
  # are in this VM and can be checked at the call. The node checks the values that it has,
  # and the error is raised where a result is read.

  alias Nx.Tensor, as: T

  @shifts %{left_shift: "left", right_shift: "right"}
  @divisions [:quotient, :remainder]

  @doc "Lists the operations whose operands are checked."
  def ops, do: Map.keys(@shifts) ++ @divisions ++ [:atan2]

  @doc "Raises the error that Nx.BinaryBackend raises for scalars among the operands."
  def check!(op, [_, right]) when is_map_key(@shifts, op) do
    with n when is_integer(n) and n < 0 <- scalar(right),
         do: raise(ArgumentError, "cannot #{@shifts[op]} shift by #{n}")

    :ok
  end

  def check!(op, [%T{type: {kind, _}}, right]) when op in @divisions and kind in [:s, :u] do
    if scalar(right) == 0, do: raise(ArithmeticError)
    :ok
  end

  def check!(:atan2, tensors) do
    for %Complex{im: im} when im != 0 <- Enum.map(tensors, &scalar/1),
        do: raise(ArithmeticError, "Complex.atan2 only accepts real numbers as arguments")

    :ok
  end

  def check!(_op, _tensors), do: :ok

  # The number of a scalar that is not on the node, or nil.
  defp scalar(%T{shape: {}, data: %NxVulkanGo.Backend{id: nil}} = t), do: Nx.to_number(t)
  defp scalar(%T{shape: {}, data: %Nx.BinaryBackend{}} = t), do: Nx.to_number(t)
  defp scalar(%T{}), do: nil
end
