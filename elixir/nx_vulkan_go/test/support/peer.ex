defmodule NxVulkanGo.Peer do
  @moduledoc false
  # Another BEAM node that uses the same server, and what it does there.

  alias NxVulkanGo.{Distribution, Launcher}

  @doc "Gives this VM a name, if it has none: it listens on no port and asks no epmd."
  def name_vm! do
    options = %{name_domain: :longnames, dist_listen: false, hidden: true}

    case :net_kernel.start(:"nx_#{Distribution.random_hex(6)}@127.0.0.1", options) do
      {:ok, _} -> Node.set_cookie(:"#{Distribution.random_hex(24)}")
      {:error, {:already_started, _}} -> :ok
    end
  end

  @doc "Starts one, connected to this VM."
  def start!(server) do
    name_vm!()

    {:ok, peer, node} =
      :peer.start(%{
        name: :"peer_#{Distribution.random_hex(4)}",
        host: ~c"127.0.0.1",
        longnames: true,
        connection: :standard_io,
        args: [~c"-setcookie", ~c"#{Node.get_cookie()}" | paths()]
      })

    # Small tensors are on the server, as in this VM.
    :ok = :peer.call(peer, :application, :set_env, [:nx_vulkan_go, :vm_limit, 0])
    {:ok, _} = :peer.call(peer, :application, :ensure_all_started, [:nx_vulkan_go], 30_000)
    true = :peer.call(peer, :erlang, :set_cookie, [server, cookie(server)])
    true = Node.connect(node)
    peer
  end

  defp cookie(server) do
    case Launcher.access(server) do
      %{cookie: cookie} -> String.to_atom(cookie.())
      nil -> String.to_atom(Application.fetch_env!(:nx_vulkan_go, :cookie))
    end
  end

  defp paths, do: Enum.flat_map(:code.get_path(), &[~c"-pa", &1])

  @doc "Ends one, unless it has ended."
  def stop(peer) do
    :peer.stop(peer)
  catch
    :exit, _ -> :ok
  end

  @doc "Ends one without a word."
  def kill_9(peer) do
    pid = :peer.call(peer, :os, :getpid, [])
    {_, 0} = System.cmd("kill", ["-9", "#{pid}"])
    :ok
  end

  @doc "Calls a function of this module there."
  def on(peer, function, args), do: :peer.call(peer, __MODULE__, function, args, 30_000)

  def double(t), do: Nx.to_flat_list(Nx.add(t, t))
  def read(t), do: Nx.to_flat_list(t)
  def show(t), do: inspect(t)

  def buffers(server) do
    NxVulkanGo.sweep(server: server)
    NxVulkanGo.memory(server: server).session.buffers
  end

  @doc "A process that uses the tensor once, then holds it until it is asked for the sum."
  def hold(t) do
    caller = self()

    pid =
      spawn(fn ->
        Nx.to_binary(t)
        :erlang.garbage_collect()
        send(caller, {self(), :used})

        receive do
          {:sum, from} -> send(from, {self(), Nx.to_number(Nx.sum(t))})
        end
      end)

    await(pid)
    pid
  end

  def sum(pid) do
    send(pid, {:sum, self()})
    await(pid)
  end

  @doc "A process that makes a tensor and holds it; the tensor and the process."
  def make(server) do
    caller = self()

    pid =
      spawn(fn ->
        t = Nx.iota({3}, backend: {NxVulkanGo.Backend, server: server})
        send(caller, {self(), t})
        Process.sleep(:infinity)
        t
      end)

    {await(pid), pid}
  end

  @doc "A tensor that only a lease holds, and the lease."
  def lease(server) do
    caller = self()

    pid =
      spawn(fn ->
        t = Nx.iota({3}, backend: {NxVulkanGo.Backend, server: server})
        send(caller, {self(), {t, NxVulkanGo.Session.Lease.start(t.data)}})
      end)

    await(pid)
  end

  @doc "Starts a serving of this VM that multiplies by a factor, and takes requests of other VMs by its weight."
  def serve(server, name, factor, weight) do
    # As with any backend whose tensors are of a VM, results are sent as binaries.
    serving =
      Nx.Serving.jit(&Nx.multiply(&1, factor), compiler: NxVulkanGo, server: server)
      |> Nx.Serving.distributed_postprocessing(&Nx.backend_copy(&1, Nx.BinaryBackend))

    spawn(fn ->
      {:ok, _} =
        Nx.Serving.start_link(
          serving: serving,
          name: name,
          batch_size: 4,
          batch_timeout: 1,
          distribution_weight: weight
        )

      Process.sleep(:infinity)
    end)

    :ok
  end

  def alive?(pid), do: Process.alive?(pid)

  def kill(pid), do: Process.exit(pid, :kill)

  defp await(pid) do
    receive do
      {^pid, answer} -> answer
    after
      10_000 -> raise "no answer"
    end
  end
end
