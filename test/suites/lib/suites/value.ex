defmodule Suites.Value do
  @moduledoc "Terms with their tensors somewhere else."

  @doc "The term with every tensor on `Nx.BinaryBackend`, as which tensors compare."
  def plain(term), do: map(term, &plain_tensor/1)

  @doc "The term with every tensor on the default backend."
  def here(term), do: map(term, &Nx.backend_copy(&1, Nx.default_backend()))

  defp plain_tensor(%Nx.Tensor{data: %NxVulkanGo.Backend{}} = t),
    do: Nx.backend_copy(t, Nx.BinaryBackend)

  defp plain_tensor(t), do: t

  defp map(%Nx.Tensor{} = tensor, fun), do: fun.(tensor)

  defp map(%module{} = struct, fun),
    do: struct |> Map.from_struct() |> map(fun) |> Map.put(:__struct__, module)

  defp map(%{} = term, fun), do: Map.new(term, fn {key, value} -> {key, map(value, fun)} end)
  defp map([head | tail], fun), do: [map(head, fun) | map(tail, fun)]

  defp map(term, fun) when is_tuple(term),
    do: term |> Tuple.to_list() |> map(fun) |> List.to_tuple()

  defp map(term, _fun), do: term
end
