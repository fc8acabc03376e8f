defmodule NxVulkanGo.SeveralDevices do
  @moduledoc false
  # A VM whose server has several device servers, and what it does there.

  alias NxVulkanGo.{Eventually, Peer}
  alias NxVulkanGo.Session.Registry

  @first {NxVulkanGo.Backend, device: 0}
  @second {NxVulkanGo.Backend, device: 1}

  @doc """
  Starts the VM; its server opens each of the devices, by name or index. For "0" the devices of the machine that
  are not its processor take turns.
  """
  def start!(devices) do
    paths = Enum.flat_map(:code.get_path(), &[~c"-pa", &1])
    {:ok, peer, _} = :peer.start(%{connection: :standard_io, args: paths})
    :ok = :peer.call(peer, :application, :set_env, [:logger, :level, :warning])
    set(peer, :vm_limit, 0)
    set(peer, :node_args, Enum.flat_map(in_turn(devices), &["--device", &1]))
    {:ok, _} = :peer.call(peer, :application, :ensure_all_started, [:nx_vulkan_go], 30_000)
    peer
  end

  defp in_turn(devices) do
    count = max(1, Enum.count(NxVulkanGo.devices(), &(&1.kind != :host)))

    {devices, _} =
      Enum.map_reduce(devices, 0, fn
        "0", turn -> {"#{rem(turn, count)}", turn + 1}
        other, turn -> {other, turn}
      end)

    devices
  end

  @doc "Starts the VM for the time of a test, or of the module whose `setup_all` calls this."
  def start_for_tests!(devices) do
    peer = start!(devices)
    ExUnit.Callbacks.on_exit(fn -> Peer.stop(peer) end)
    peer
  end

  @doc "Configures the VM."
  def set(peer, key, value),
    do: :ok = :peer.call(peer, :application, :set_env, [:nx_vulkan_go, key, value])

  @doc "Calls a function of this module there."
  def on(peer, function, args \\ []),
    do: :peer.call(peer, __MODULE__, function, args, 240_000)

  @types [u: 8, s: 16, s: 32, u: 64, f: 16, bf: 16, f: 32, f: 64, c: 64, c: 128, u: 4, s: 2, f: 8]

  @doc """
  Copies and transfers tensors of all types and some shapes, there and back, and computes with them.
  Returns those that are not what they were, as `{type, shape}`.
  """
  def wrong(seed) do
    :rand.seed(:exsss, seed)

    for type <- @types, shape <- [{}, {1}, {7}, {3, 5}, {130, 64}, {2, 3, 400}], reduce: [] do
      wrong ->
        tensor = random(type, shape)
        there = tensor |> Nx.backend_copy(@second) |> Nx.backend_transfer(@first)
        back = Nx.backend_transfer(Nx.backend_transfer(there, @second), @first)
        right? = Nx.to_binary(back) == Nx.to_binary(tensor) and same?(back, tensor)
        if right?, do: wrong, else: [{type, shape} | wrong]
    end
  end

  # A view with other strides, a part of another tensor, or a tensor as it was uploaded.
  defp random({_, bits} = type, shape) do
    size = Tuple.product(shape) * max(bits, 8)
    flat = Nx.from_binary(:rand.bytes(div(size, 8)), {:u, 8}, backend: @first)

    values =
      flat |> Nx.remainder(2) |> Nx.as_type(type) |> Nx.slice([0], [Tuple.product(shape)])

    case {tuple_size(shape), :rand.uniform(3)} do
      {2, 1} -> values |> Nx.reshape({elem(shape, 1), elem(shape, 0)}) |> Nx.transpose()
      {_, 2} -> values |> Nx.reverse() |> Nx.reshape(shape)
      _ -> Nx.reshape(values, shape)
    end
  end

  defp same?(a, b), do: {a.type, a.shape, a.names} == {b.type, b.shape, b.names}

  @doc "What the server has counted, by device."
  def counted(metric), do: NxVulkanGo.metrics()[metric]

  @doc "Transfers a tensor of `count` numbers; returns what it was and is, and the values that each device has."
  def transfer(count) do
    tensor = Nx.iota({count}, type: :f32, backend: @first)
    there = Nx.backend_transfer(tensor, @second)
    sum = there |> Nx.sum() |> Nx.to_number()
    Eventually.eventually(fn -> values(0) == 0 end)
    {inspect(tensor), there.data.session.device, sum, values(1)}
  end

  defp values(device) do
    NxVulkanGo.sweep(device: device)
    NxVulkanGo.memory(device: device).session.buffers
  end

  @doc "Transfers the result of an operation that fails; returns the error of what uses the copy."
  def fault do
    tensor = Nx.iota({4}, backend: @first)
    bad = Nx.take(tensor, Nx.tensor([9], backend: @first))
    there = bad |> Nx.backend_transfer(@second) |> Nx.add(1)
    message(fn -> Nx.to_binary(there) end)
  end

  @doc "Copies a tensor twice; returns the error of the second copy, and reads one that is made without the first."
  def beyond_limit(bytes) do
    tensor = Nx.iota({div(bytes, 4)}, type: :f32, backend: @first)
    first = Nx.backend_copy(tensor, @second)
    text = message(fn -> tensor |> Nx.backend_copy(@second) |> Nx.to_binary() end)
    Nx.backend_deallocate(first)
    {text, Nx.to_binary(Nx.backend_copy(tensor, @second)) == Nx.to_binary(tensor)}
  end

  @doc "The error of using a tensor with one of another device."
  def mixed do
    a = Nx.iota({4}, backend: @first)
    b = Nx.iota({4}, backend: @second)
    message(fn -> Nx.add(a, b) end)
  end

  defp message(fun) do
    fun.()
  rescue
    error -> Exception.message(error)
  end

  @doc "Processes that each add 1 on one device and then on the other, from both sides; returns the results."
  def ping_pong(processes, rounds) do
    1..processes
    |> Task.async_stream(
      fn i ->
        {here, there} = if rem(i, 2) == 0, do: {@first, @second}, else: {@second, @first}
        start = Nx.broadcast(Nx.tensor(i, type: :f32, backend: here), {300})

        1..rounds
        |> Enum.reduce(start, fn _, t ->
          t = t |> Nx.add(1) |> Nx.backend_transfer(there)
          t |> Nx.add(1) |> Nx.backend_transfer(here)
        end)
        |> Nx.to_flat_list()
        |> Enum.uniq()
      end,
      max_concurrency: processes,
      timeout: :infinity
    )
    |> Enum.map(&elem(&1, 1))
  end

  @doc "Ends the session of a device while copies from and to it are under way; then goes on."
  def end_session(device) do
    tensor = Nx.iota({2_000_000}, type: :f32, backend: @first)
    copies = for _ <- 1..8, do: Nx.backend_copy(tensor, @second)
    pid = Registry.fetch!(device: device).pid
    ref = Process.monitor(pid)
    Process.exit(pid, :kill)

    receive do
      {:DOWN, ^ref, _, _, _} -> :ok
    end

    # It has closed the session when it answers.
    :sys.get_state(Registry)
    sums = for copy <- copies, do: message(fn -> copy[[0..1]] |> Nx.to_flat_list() end)
    again = Nx.iota({5}, backend: @first) |> Nx.backend_transfer(@second) |> Nx.to_flat_list()
    {sums, again, length(NxVulkanGo.sessions())}
  end
end
