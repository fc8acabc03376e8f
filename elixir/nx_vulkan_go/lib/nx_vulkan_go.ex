defmodule NxVulkanGo do
  @moduledoc """
  Nx on any device with a Vulkan driver, in another process or on another machine.

  `NxVulkanGo.Backend` is the backend, and `compiler: NxVulkanGo` compiles whole
  functions; see `NxVulkanGo.Compiler`. `explain/3` shows the program of a function.

  The other functions ask servers and devices. They take the options of the backend,
  `:server` and `:device`, and raise `NxVulkanGo.Error` where the server cannot be
  reached.
  """

  @behaviour Nx.Defn.Compiler

  alias NxVulkanGo.{Compiler, Distribution, Error, Options, Session}
  alias NxVulkanGo.Session.Registry

  @impl true
  defdelegate __jit__(key, vars, fun, args_list, options), to: Compiler, as: :jit

  @impl true
  defdelegate __compile__(key, vars, fun, options), to: Compiler, as: :compile

  @impl true
  def __shard_jit__(_key, _mesh, _vars, _fun, _args_list, _options) do
    raise ArgumentError,
          "NxVulkanGo does not shard. Run the function on each device, with compiler: NxVulkanGo " <>
            "and device: INDEX; Nx.Serving does that with partitions: true"
  end

  @impl true
  def __partitions_options__(options) do
    place = options |> Options.compiler!() |> Keyword.take([:server, :device])
    for %{index: index} <- devices(place), do: Keyword.put(options, :device, index)
  end

  @impl true
  def __to_backend__(options) do
    {NxVulkanGo.Backend, options |> Options.compiler!() |> Keyword.take([:server, :device])}
  end

  @doc """
  Explains how a function is computed for arguments of these types and shapes.

  The explanation has the program, with the regions of its loops and branches, and its
  parts as the device carries them out after the first run. For each part it shows
  kernels, bytes moved and time, the rules by which operations were fused, and why the
  part ends where it does. The function is not run.

      IO.puts(NxVulkanGo.explain(&MyModule.step/2, [params, batch]))

  The result prints as text and is a table in Livebook; see `NxVulkanGo.Explanation`.
  Times are estimates. With `profile: true` the device carries out each part on zeros
  and measures it.

  Takes the options of `Nx.Defn.jit/2`. Of these `:server`, `:device` and `:hooks` have
  an effect; see `NxVulkanGo.Options`.
  """
  @spec explain(fun, [term], keyword) :: NxVulkanGo.Explanation.t()
  def explain(fun, args, options \\ []), do: Compiler.explain(fun, args, options)

  @doc """
  Lists the devices of a server: maps with `:index`, `:name`, `:kind`, `:driver`,
  `:memory` (bytes) and more.
  """
  @spec devices(keyword) :: [map]
  def devices(options \\ []), do: info(options).devices

  @doc "Describes a server: its version, operating system and devices."
  @spec info(keyword) :: map
  def info(options \\ []), do: call(options, :info)

  @doc """
  Lists the sessions of all clients of a server: maps with `:device`, `:pid`, `:label`,
  `:buffers`, `:bytes`, `:limit`, `:waiting` (instructions and reads), `:waits_for` (a reason, or
  `nil`) and `:closable` (whether this VM may close it).
  """
  @spec sessions(keyword) :: [map]
  def sessions(options \\ []), do: call(options, :sessions)

  @doc """
  Closes a session that `sessions/1` lists, and frees its memory. The tensors of its VM are
  then stale, and the next operation there opens another session.

  This VM may close its own sessions; those of others only where the node was started with
  `--allow-close`. Raises `NxVulkanGo.Error` of kind `:bad_argument` otherwise, or where there is no
  such session.
  """
  @spec close_session(%{device: non_neg_integer, pid: pid}, keyword) :: :ok
  def close_session(%{device: device, pid: pid}, options \\ []),
    do: call(options, {:close, pid}, :"nxvk_#{device}")

  @doc """
  Lists the kernels that took the devices of a server longest: maps with `:device`, `:name` (the
  hash of the code), `:op` (what first ran it), `:dispatches` and `:seconds` of device time, an
  estimate that measured times have corrected.
  """
  @spec kernels(keyword) :: [map]
  def kernels(options \\ []), do: call(options, :kernels)

  @doc """
  Asks a server what it does: devices with their memory, sessions, the kernels that take longest,
  fallbacks and chains. The result prints as tables; see `NxVulkanGo.Overview`.
  """
  @spec overview(keyword) :: NxVulkanGo.Overview.t()
  def overview(options \\ []), do: NxVulkanGo.Overview.new(options)

  @doc """
  Lists the chains of the sampler that are under way on a server: maps with `:device`, `:pid`,
  `:label`, `:run`, `:chain`, `:warmup`, `:warmup_of`, `:draws`, `:draws_of`, `:divergent`, `:steps` and
  `:step_size`.
  """
  @spec chains(keyword) :: [map]
  def chains(options \\ []), do: call(options, :chains)

  @doc """
  Returns the counters of a server, for all clients together.

  The keys are names of counters, such as `:host_instructions_total`. Each value is a map
  from device servers, such as `:nxvk_0`, to numbers. "Where numbers are computed" in
  `NxVulkanGo.Backend` explains some of them.
  """
  @spec metrics(keyword) :: %{atom => %{atom => number}}
  def metrics(options \\ []), do: call(options, :metrics)

  @doc """
  Returns the memory in use, in bytes and counts: `%{session: %{buffers: _, bytes: _,
  limit: _}, device: %{used: _, reserved: _, peak: _, total: _, sessions: _}}`. The
  session has all tensors of this VM on the device.
  """
  @spec memory(keyword) :: map
  def memory(options \\ []), do: options |> session!() |> Session.call!(:memory)

  @doc "Waits until a device has computed everything that this VM sent to it."
  @spec sync(keyword) :: :ok
  def sync(options \\ []), do: options |> session!() |> Session.sync()

  @doc """
  Frees the memory of garbage without delay. The calling process collects its garbage;
  then the memory of all tensors that no process refers to is freed.
  """
  @spec sweep(keyword) :: :ok
  def sweep(options \\ []) do
    session = session!(options)
    :erlang.garbage_collect()
    Session.sweep(session)
  end

  @doc "Connects to the server and returns its name. Starts a server where none is configured."
  @spec connect(keyword) :: node
  def connect(options \\ []), do: Registry.fetch_server!(Options.backend!(options)[:server])

  defp session!(options), do: options |> Options.backend!() |> Registry.fetch!()

  defp call(options, request, name \\ :nxvk) do
    server = connect(options)

    case Distribution.call({name, server}, request, 30_000) do
      {:ok, reply} -> reply
      :ok -> :ok
      {:error, error} -> raise Error.from_wire(error)
    end
  catch
    :exit, {reason, _} -> raise Error.new(:server_down, Kernel.inspect(reason))
  end
end
