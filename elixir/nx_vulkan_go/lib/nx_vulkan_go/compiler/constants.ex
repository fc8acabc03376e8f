defmodule NxVulkanGo.Compiler.Constants do
  @moduledoc false
  # The tensors that functions have captured, on the devices where the functions have run.
  # A tensor is sent once for each device, for all programs, and stays in a table. It is
  # dropped with its session, and the oldest are dropped when there are many.

  use GenServer

  alias NxVulkanGo.Backend.Eager
  alias NxVulkanGo.{Encoding, Session}

  @limit 1024

  def start_link(_), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "Returns the captured tensors of a program on the device of a session; sends missing ones."
  @spec fetch(Session.t(), [{binary, Nx.Tensor.t()}]) :: [Nx.Tensor.t()]
  def fetch(_session, []), do: []
  def fetch(session, [entry | rest]), do: [one(session, entry) | fetch(session, rest)]

  # Two callers may send the same tensor at the same time; one copy is kept.
  defp one(%Session{pid: pid} = session, {hash, %{type: type} = tensor}) do
    case :ets.lookup(__MODULE__, {pid, hash}) do
      [{_, there}] ->
        there

      [] ->
        data = tensor |> Nx.to_binary() |> Encoding.encode(type)
        there = Eager.upload(tensor, data, session)
        GenServer.call(__MODULE__, {:put, {pid, hash}, there})
        there
    end
  end

  # The keys, oldest first, and the monitors of their sessions.
  @impl true
  def init(nil) do
    :ets.new(__MODULE__, [:named_table, :protected, read_concurrency: true])
    {:ok, {:queue.new(), %{}}}
  end

  @impl true
  def handle_call({:put, {pid, _} = key, tensor}, _from, {keys, monitors}) do
    if :ets.insert_new(__MODULE__, {key, tensor}) do
      monitors = Map.put_new_lazy(monitors, pid, fn -> Process.monitor(pid) end)
      {:reply, :ok, {trim(:queue.in(key, keys)), monitors}}
    else
      {:reply, :ok, {keys, monitors}}
    end
  end

  @impl true
  def handle_info({:DOWN, _, :process, pid, _}, {keys, monitors}) do
    :ets.match_delete(__MODULE__, {{pid, :_}, :_})
    keys = :queue.filter(fn {session, _} -> session != pid end, keys)
    {:noreply, {keys, Map.delete(monitors, pid)}}
  end

  def handle_info(_other, state), do: {:noreply, state}

  defp trim(keys) do
    if :queue.len(keys) > @limit do
      {{:value, key}, keys} = :queue.out(keys)
      :ets.delete(__MODULE__, key)
      keys
    else
      keys
    end
  end
end
