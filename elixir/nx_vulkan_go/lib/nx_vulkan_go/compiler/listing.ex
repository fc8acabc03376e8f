defmodule NxVulkanGo.Compiler.Listing do
  @moduledoc false
  # Formats programs for people: a line for each instruction, regions indented below theirs.

  alias NxVulkanGo.Compiler.{Lower, Program}
  alias NxVulkanGo.{Encoding, Ops}

  @doc "Formats a program, below a line with its counts."
  @spec format(Program.t() | {:unsupported, String.t()}) :: String.t()
  def format({:unsupported, reason}), do: "run by Nx.Defn.Evaluator: #{reason}\n"

  def format(%Program{} = program) do
    {params, body, values} = Program.region(program)
    types = types({params, body, values}, %{})
    {arguments, captured} = Enum.split(params, length(program.inputs))

    [
      header(program, body),
      for(
        {{id, _, _}, i} <- Enum.zip(arguments, program.inputs),
        do: given(id, "argument #{i}", types)
      ),
      for({id, _, _} <- captured, do: given(id, "captured, #{bytes(types[id])} bytes", types)),
      for(i <- body, do: instruction(i, types, "")),
      give(values, "")
    ]
    |> IO.iodata_to_binary()
  end

  defp header(program, body) do
    key = Base.encode16(binary_part(program.key, 0, 6), case: :lower)
    callbacks = program.callbacks |> Tuple.to_list() |> Enum.map_join(", ", &callback/1)

    [
      ["program #{key}: #{count(body)} instructions, #{length(program.inputs)} arguments, "],
      ["#{length(program.captured)} captured tensors, #{length(program.results)} results\n"],
      if(callbacks == "", do: [], else: ["calls #{callbacks}\n"])
    ]
  end

  @spec callback(Lower.callback()) :: String.t()
  defp callback({:hook, {:named, name, _}, _}), do: "hook #{inspect(name)}"
  defp callback({:hook, {:fn, fun}, _}), do: "hook #{inspect(fun)}"
  defp callback({:call, fun, _, _, _}), do: "#{inspect(fun)}"

  # Instructions, those in regions included.
  defp count(body) do
    inside = for {_, _, _, attrs} <- body, attr <- attrs, region?(attr), do: count(elem(attr, 1))
    length(body) + Enum.sum(inside)
  end

  # An attribute that is a tuple is a region: no other kind is.
  defp region?(attr), do: is_tuple(attr)

  defp types({params, body, _values}, types) do
    types = Enum.reduce(params, types, &typed/2)

    Enum.reduce(body, types, fn {_op, results, _operands, attrs}, types ->
      types = Enum.reduce(results, types, &typed/2)
      attrs |> Enum.filter(&region?/1) |> Enum.reduce(types, &types/2)
    end)
  end

  defp typed({id, type, shape}, types), do: Map.put(types, id, {type, shape})

  defp given(id, what, types), do: [value(id, types), " = ", what, "\n"]

  defp instruction({op, results, operands, attrs}, types, indent) do
    names = for {name, _, _} <- Ops.get(op).attrs, do: name
    {regions, plain} = names |> Enum.zip(attrs) |> Enum.split_with(&region?(elem(&1, 1)))
    options = for {name, value} <- plain, do: "#{name}: #{inspect(value, charlists: :as_lists)}"
    args = Enum.map(operands, &operand/1) ++ options
    left = Enum.map_join(results, ", ", fn {id, _, _} -> value(id, types) end)

    [
      [indent, left, if(left == "", do: "", else: " = "), "#{op}(#{Enum.join(args, ", ")})\n"],
      for({name, region} <- regions, do: region(name, region, types, indent <> "  "))
    ]
  end

  defp region(name, {params, body, values}, types, indent) do
    params = Enum.map_join(params, ", ", fn {id, _, _} -> value(id, types) end)

    [
      [indent, "#{name}(", params, ")\n"],
      for(i <- body, do: instruction(i, types, indent <> "  ")),
      give(values, indent <> "  ")
    ]
  end

  defp give(values, indent), do: [indent, "give ", Enum.map_join(values, ", ", &operand/1), "\n"]

  defp value(id, types) do
    {type, shape} = Map.fetch!(types, id)
    "%#{id}: #{type}#{dimensions(shape)}"
  end

  defp operand(id) when is_integer(id), do: "%#{id}"
  defp operand({type, data}), do: "#{number(type, {}, data)}:#{type}"

  defp operand({type, shape, data}),
    do: "#{number(type, shape, data)}:#{type}#{dimensions(shape)}"

  defp number(type, shape, data) do
    type = Encoding.atom_to_type(type)
    t = %Nx.Tensor{type: type, shape: shape, names: List.duplicate(nil, tuple_size(shape))}
    t = Nx.BinaryBackend.from_binary(t, Encoding.decode(data, type), [])
    if shape == {}, do: "#{Nx.to_number(t)}", else: inspect(Nx.to_list(t), charlists: :as_lists)
  end

  defp dimensions({}), do: ""
  defp dimensions(shape), do: "[#{shape |> Tuple.to_list() |> Enum.join("][")}]"

  defp bytes({type, shape}),
    do: Tuple.product(shape) * Encoding.element_size(Encoding.atom_to_type(type))
end
