defmodule NxVulkanGo.Units do
  @moduledoc false
  # Numbers as people read them.

  @units ["B", "kB", "MB", "GB", "TB"]

  @doc "Formats a number of bytes."
  @spec bytes(number) :: String.t()
  def bytes(n), do: bytes(n, @units)
  defp bytes(n, [_, next | units]) when n >= 1000, do: bytes(n / 1000, [next | units])
  defp bytes(n, [unit | _]) when is_integer(n), do: "#{n} #{unit}"
  defp bytes(n, [unit | _]), do: "#{Float.round(n, 1)} #{unit}"
end
