defmodule NxVulkanGo.Encoding do
  @moduledoc false
  # Encodes elements for the wire: dense and little-endian as in Nx, but an element of
  # less than 8 bits takes a byte. This module knows types and bytes; it knows no handle
  # and no server.

  @types [u: [2, 4, 8, 16, 32, 64], s: [2, 4, 8, 16, 32, 64]] ++
           [f: [8, 16, 32, 64], bf: [16], f8_e4m3fn: [8], c: [64, 128]]

  if :erlang.system_info(:endian) != :little do
    raise "nx_vulkan_go needs a little-endian machine"
  end

  @doc "Returns the atom that names an element type on the wire."
  for {kind, sizes} <- @types, size <- sizes do
    name = if kind == :f8_e4m3fn, do: kind, else: :"#{kind}#{size}"
    def type_to_atom({unquote(kind), unquote(size)}), do: unquote(name)
  end

  @doc "Returns the element type that an atom names."
  for {kind, sizes} <- @types, size <- sizes do
    name = if kind == :f8_e4m3fn, do: kind, else: :"#{kind}#{size}"
    def atom_to_type(unquote(name)), do: {unquote(kind), unquote(size)}
  end

  @doc "Returns the bytes of an encoded element."
  def element_size({_, bits}) when bits < 8, do: 1
  def element_size({_, bits}), do: div(bits, 8)

  @doc "Encodes a number as a scalar."
  def encode_scalar({:f, 32}, n) when is_float(n) and abs(n) < 3.4e38, do: <<n::float-32-little>>
  def encode_scalar({:f, 64}, n) when is_float(n), do: <<n::float-64-little>>

  def encode_scalar({kind, bits}, n) when kind in [:s, :u] and bits >= 8 and is_integer(n),
    do: <<n::size(bits)-little>>

  def encode_scalar(type, n) do
    %Nx.Tensor{type: type, shape: {}, names: []}
    |> Nx.BinaryBackend.constant(n, [])
    |> Nx.BinaryBackend.to_binary(1)
    |> encode(type)
  end

  @doc "Encodes elements, a bitstring of Nx."
  def encode(bits, {kind, size}) when size < 8, do: unpack(bits, kind, size)
  def encode(bits, _type), do: bits

  defp unpack(bits, :u, size), do: for(<<e::size(size)-native <- bits>>, into: <<>>, do: <<e::8>>)

  defp unpack(bits, :s, size),
    do: for(<<e::size(size)-signed-native <- bits>>, into: <<>>, do: <<e::8>>)

  @doc "Decodes elements to a bitstring of Nx."
  def decode(bytes, {_, size}) when size < 8,
    do: for(<<e::8 <- bytes>>, into: <<>>, do: <<e::size(size)-native>>)

  def decode(bytes, _type), do: bytes
end
