defmodule NxVulkanGo.FakeServer do
  @moduledoc false
  # A device server in this VM, for tests of what the client does: it keeps the
  # books of `gen/README.md` and computes simple operations by Nx.BinaryBackend.

  alias NxVulkanGo.Data

  @types for {kind, sizes} <-
               [u: [2, 4, 8, 16, 32, 64], s: [2, 4, 8, 16, 32, 64]] ++
                 [f: [8, 16, 32, 64], bf: [16], c: [64, 128]],
             size <- sizes,
             into: %{f8_e4m3fn: {:f8_e4m3fn, 8}},
             do: {:"#{kind}#{size}", {kind, size}}

  def start(device, options \\ []) do
    test = self()

    pid =
      spawn(fn ->
        Process.register(self(), :"nxvk_#{device}")
        send(test, :registered)

        loop(%{
          values: %{},
          incarnation: System.unique_integer([:positive]),
          messages: 0,
          deaf: options[:deaf] || false
        })
      end)

    receive do
      :registered -> pid
    end
  end

  def stop(pid) do
    ref = Process.monitor(pid)
    Process.exit(pid, :kill)

    receive do
      {:DOWN, ^ref, _, _, _} -> :ok
    end
  end

  defp loop(state) do
    receive do
      {:"$gen_call", from, request} ->
        loop(call(state, from, request))

      {:nxvk, _incarnation, list} ->
        loop(%{Enum.reduce(list, state, &one/2) | messages: state.messages + 1})

      {:nxvk_swept, _ref} = swept ->
        loop(Map.put(state, :swept, swept))
    end
  end

  defp call(state, {pid, tag}, request) do
    send(pid, {tag, answer(state, request)})
    state
  end

  defp answer(%{incarnation: now} = state, {:at, incarnation, request}) do
    if incarnation == now,
      do: answer(state, request),
      else: {:error, {:stale, nil, [], "restarted"}}
  end

  defp answer(state, {:open, _options}),
    do: {:ok, %{key: "key", incarnation: state.incarnation, session: 1}}

  defp answer(_state, :sync), do: :ok

  defp answer(state, :memory) do
    {:ok,
     %{session: %{buffers: map_size(state.values), messages: state.messages}, device: %{total: 0}}}
  end

  defp answer(state, {:download, id}) do
    with {:ok, {_type, _shape, data}} <- value(state, id), do: {:ok, data}
  end

  defp answer(state, {:download, id, offset, count}) do
    with {:ok, {type, _shape, data}} <- value(state, id) do
      size = Data.bytes(@types[type])
      {:ok, binary_part(data, offset * size, count * size)}
    end
  end

  defp answer(state, {:describe, id}) do
    with {:ok, {type, shape, _}} <- value(state, id), do: {:ok, {type, shape}}
  end

  defp value(state, id) do
    case state.values do
      %{^id => {:error, _} = error} -> error
      %{^id => value} -> {:ok, value}
      _ -> {:error, {:unknown_id, nil, [], "no value #{id}"}}
    end
  end

  defp one({:free, [], [], [ids]}, state), do: %{state | values: Map.drop(state.values, ids)}

  defp one({:import, [{id, _, _}], [{:shared, _pid, _key, theirs}], []}, state),
    do: put(state, id, Map.get(state.values, theirs))

  defp one({:tensor, [{id, type, shape}], [{_, _, data}], []}, state),
    do: put(state, id, {type, shape, data})

  defp one({op, [{id, type, shape}], operands, _attrs}, state) do
    operands = Enum.map(operands, &operand(&1, state))

    case Enum.find(operands, &match?({:error, _}, &1)) do
      nil -> put(state, id, compute(op, type, shape, operands))
      error -> put(state, id, error)
    end
  end

  defp compute(:fail, _, _, _), do: {:error, {:bad_argument, "fail", [], "as asked"}}
  defp compute(:reshape, type, shape, [{_, _, data}]), do: {type, shape, data}

  defp compute(op, type, shape, operands) do
    out = tensor({type, shape, <<>>})
    result = apply(Nx.BinaryBackend, op, [out | Enum.map(operands, &tensor/1)])
    {type, shape, Nx.to_binary(result)}
  end

  defp operand(id, state) when is_integer(id) do
    with {:ok, value} <- value(state, id), do: value
  end

  defp operand({type, data}, _state), do: {type, {}, data}
  defp operand({type, shape, data}, _state), do: {type, shape, data}

  defp tensor({type, shape, data}) do
    names = List.duplicate(nil, tuple_size(shape))

    Nx.BinaryBackend.from_binary(
      %Nx.Tensor{type: @types[type], shape: shape, names: names},
      data,
      []
    )
  end

  defp put(state, id, value), do: %{state | values: Map.put(state.values, id, value)}
end
