defmodule NxVulkanGo.Session.Remote do
  @moduledoc false
  # Tensors that were made by another BEAM node and sent to this one. The session imports
  # such a value under an id of its own, and a keeper process frees it when no process of this
  # VM holds the tensor any more. See "Tensors of other BEAM nodes" in guides/contributing/design.md.

  alias NxVulkanGo.{Encoding, Session}

  @doc """
  Replaces operands `{:foreign, key}` by ids of the session of `state`. `handles`
  are the tensors' data, as they came.
  """
  def resolve(state, instructions, handles) do
    {state, imports, ids} =
      Enum.reduce(handles, {state, [], %{}}, fn handle, {state, imports, ids} ->
        key = key(handle)
        {state, import, id} = retain(state, key, handle)
        {state, import ++ imports, Map.put(ids, key, id)}
      end)

    {state, imports ++ Enum.map(instructions, &replace(&1, ids))}
  end

  @doc "Returns the key of a value of another BEAM node."
  def key(%{session: session, id: id}), do: {session.pid, id}

  defp retain(state, key, handle) do
    {id, keeper, uses, import} =
      case state.foreign do
        %{^key => {id, keeper, uses}} ->
          {id, keeper, uses, []}

        _ ->
          id = Session.new_id(state.session)
          stream = self()
          keeper = spawn_link(fn -> keep(stream, key, [], MapSet.new(), 0) end)
          # The nodes are connected, or nobody there waits for the word.
          :erlang.send(handle.session.pid, {:retained, handle.id}, [:noconnect, :nosuspend])
          {id, keeper, 0, [import_of(id, handle)]}
      end

    send(keeper, {:hold, handle.token})
    {%{state | foreign: Map.put(state.foreign, key, {id, keeper, uses + 1})}, import, id}
  end

  defp import_of(id, %{session: session} = handle) do
    value = {id, Encoding.type_to_atom(handle.type), handle.shape}
    {:import, [value], [{:shared, session.address, session.key, handle.id}], []}
  end

  defp replace({op, results, operands, attrs}, ids) do
    operands =
      Enum.map(operands, fn
        {:foreign, key} -> Map.fetch!(ids, key)
        operand -> operand
      end)

    {op, results, operands, attrs}
  end

  @doc "Asks all keepers to look for garbage."
  def sweep(state) do
    for {_, {_, keeper, _}} <- state.foreign, do: send(keeper, :sweep)
    :ok
  end

  @doc """
  Frees a value that its keeper has found unused, unless it has been used since. Returns
  the instructions for that.
  """
  def forget(state, key, uses) do
    case state.foreign do
      %{^key => {id, keeper, ^uses}} ->
        Process.unlink(keeper)
        Process.exit(keeper, :kill)
        {%{state | foreign: Map.delete(state.foreign, key)}, [{:free, [], [], [[id]]}]}

      _ ->
        {state, []}
    end
  end

  # tokens has one reference for each of the addresses.
  defp keep(stream, key, tokens, addresses, uses) do
    receive do
      {:hold, token} ->
        seen = MapSet.new(binaries(), &elem(&1, 0))
        if rem(uses, 64) == 63, do: :erlang.garbage_collect()

        if MapSet.equal?(seen, addresses),
          do: keep(stream, key, tokens, addresses, uses + 1),
          else: keep(stream, key, [token | tokens], seen, uses + 1)

      :sweep ->
        :erlang.garbage_collect()
        if unused?(binaries()), do: send(stream, {:foreign_unused, key, uses})
        keep(stream, key, tokens, addresses, uses)
    end
  end

  defp binaries do
    {:binary, binaries} = Process.info(self(), :binary)
    binaries
  end

  defp unused?(binaries) do
    binaries
    |> Enum.group_by(&elem(&1, 0), &elem(&1, 2))
    |> Enum.all?(fn {_address, references} -> length(references) == hd(references) end)
  end
end
