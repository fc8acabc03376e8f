defmodule NxVulkanGo.Data do
  @moduledoc false
  # How elements look on the wire: dense, little-endian, as in Nx, but that an
  # element of less than 8 bits takes a byte of its own. This module knows
  # types and bytes; it knows no handle and no server.

  @types [u: [2, 4, 8, 16, 32, 64], s: [2, 4, 8, 16, 32, 64]] ++
           [f: [8, 16, 32, 64], bf: [16], f8_e4m3fn: [8], c: [64, 128]]

  if :erlang.system_info(:endian) != :little do
    raise "nx_vulkan_go needs a little-endian machine"
  end

  @doc "The atom of an element type."
  for {kind, sizes} <- @types, size <- sizes do
    name = if kind == :f8_e4m3fn, do: kind, else: :"#{kind}#{size}"
    def atom({unquote(kind), unquote(size)}), do: unquote(name)
  end

  @doc "The element type that an atom names."
  for {kind, sizes} <- @types, size <- sizes do
    name = if kind == :f8_e4m3fn, do: kind, else: :"#{kind}#{size}"
    def type(unquote(name)), do: {unquote(kind), unquote(size)}
  end

  @doc "Bytes of an element on the wire."
  def bytes({_, bits}) when bits < 8, do: 1
  def bytes({_, bits}), do: div(bits, 8)

  @doc "A scalar as bytes of the wire."
  def scalar({:f, 32}, n) when is_float(n) and abs(n) < 3.4e38, do: <<n::float-32-little>>
  def scalar({:f, 64}, n) when is_float(n), do: <<n::float-64-little>>

  def scalar({kind, bits}, n) when kind in [:s, :u] and bits >= 8 and is_integer(n),
    do: <<n::size(bits)-little>>

  def scalar(type, n) do
    %Nx.Tensor{type: type, shape: {}, names: []}
    |> Nx.BinaryBackend.constant(n, [])
    |> Nx.BinaryBackend.to_binary(1)
    |> to_wire(type)
  end

  @doc "The bytes of the wire for a bitstring of Nx."
  def to_wire(bits, {kind, size}) when size < 8, do: unpack(bits, kind, size)
  def to_wire(bits, _type), do: bits

  defp unpack(bits, :u, size), do: for(<<e::size(size)-native <- bits>>, into: <<>>, do: <<e::8>>)

  defp unpack(bits, :s, size),
    do: for(<<e::size(size)-signed-native <- bits>>, into: <<>>, do: <<e::8>>)

  @doc "The bitstring of Nx for bytes of the wire."
  def from_wire(bytes, {_, size}) when size < 8,
    do: for(<<e::8 <- bytes>>, into: <<>>, do: <<e::size(size)-native>>)

  def from_wire(bytes, _type), do: bytes
end
