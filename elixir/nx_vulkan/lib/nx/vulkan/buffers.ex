defmodule Nx.Vulkan.Buffers do
  @moduledoc false
  # Buffers: references with contents that change, unlike those of a tensor. Contents are bytes
  # until an operation gives them a type, and then a tensor of the device. A buffer belongs to
  # the process that made it, and is freed with that process.

  use GenServer

  alias NxVulkanGo.Backend

  def start_link(_), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "Makes a buffer with these bytes."
  @spec new(binary) :: reference
  def new(bytes) do
    ref = make_ref()
    :ets.insert(__MODULE__, {ref, byte_size(bytes), bytes})
    GenServer.call(__MODULE__, {:own, ref, self()})
    ref
  end

  @doc "Returns the size of a buffer in bytes."
  @spec size(reference) :: non_neg_integer
  def size(ref), do: ref |> row() |> elem(1)

  @doc "Returns the bytes of a buffer."
  @spec bytes(reference) :: binary
  def bytes(ref) do
    case row(ref) do
      {_, _, bytes} when is_binary(bytes) -> bytes
      {_, _, tensor} -> Nx.to_binary(tensor)
    end
  end

  @doc "Replaces the contents of a buffer by a tensor or bytes of the same size."
  @spec put(reference, binary | Nx.Tensor.t()) :: :ok | {:error, :size_mismatch}
  def put(ref, contents) do
    if size_of(contents) == size(ref) do
      :ets.update_element(__MODULE__, ref, {3, contents})
      :ok
    else
      {:error, :size_mismatch}
    end
  end

  defp size_of(bytes) when is_binary(bytes), do: byte_size(bytes)
  defp size_of(tensor), do: Nx.byte_size(tensor)

  @doc "Returns the first elements of a buffer as a tensor of the device."
  @spec tensor(reference, Nx.Type.t(), pos_integer) ::
          {:ok, Nx.Tensor.t()} | {:error, :size_mismatch}
  def tensor(ref, {_, bits} = type, count) do
    if size(ref) * 8 >= count * bits do
      {:ok, ref |> typed(type) |> Nx.slice([0], [count])}
    else
      {:error, :size_mismatch}
    end
  end

  # The tensor stays: the next operation finds it on the device.
  defp typed(ref, {_, bits} = type) do
    case row(ref) do
      {_, _, %Nx.Tensor{type: ^type} = tensor} ->
        tensor

      _ ->
        bytes = bytes(ref)
        whole = div(byte_size(bytes) * 8, bits) * div(bits, 8)
        tensor = Nx.from_binary(binary_part(bytes, 0, whole), type, backend: Backend)
        if whole == byte_size(bytes), do: put(ref, tensor)
        tensor
    end
  end

  defp row(ref) do
    case :ets.lookup(__MODULE__, ref) do
      [row] ->
        row

      [] ->
        raise ArgumentError, "#{inspect(ref)} is no buffer, or the process that made it has ended"
    end
  end

  @impl true
  def init(nil) do
    :ets.new(__MODULE__, [:named_table, :public, read_concurrency: true])
    {:ok, %{}}
  end

  # The state maps each owner to its buffers. An owner is monitored from its first buffer on.
  @impl true
  def handle_call({:own, ref, pid}, _from, owners) do
    unless is_map_key(owners, pid), do: Process.monitor(pid)
    {:reply, :ok, Map.update(owners, pid, [ref], &[ref | &1])}
  end

  @impl true
  def handle_info({:DOWN, _, :process, pid, _}, owners) do
    {refs, owners} = Map.pop(owners, pid, [])
    for ref <- refs, do: :ets.delete(__MODULE__, ref)
    {:noreply, owners}
  end

  def handle_info(_other, owners), do: {:noreply, owners}
end
