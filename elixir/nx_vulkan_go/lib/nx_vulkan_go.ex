defmodule NxVulkanGo do
  @moduledoc """
  Nx on any device with a Vulkan driver, in another process or on another machine.

  `NxVulkanGo.Backend` is the backend. The functions here look at servers and
  devices. All of them raise `NxVulkanGo.Error` where the server cannot be
  reached, and take the options of the backend: `:server` and `:device`.

  `compiler: NxVulkanGo` compiles whole functions, see `NxVulkanGo.Compiler`;
  `explain/3` shows what became of one.
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
          "NxVulkanGo does not shard. Run a function on each device, with compiler: NxVulkanGo, " <>
            "device: index; Nx.Serving does that with partitions: true"
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
  What becomes of a function for arguments like these: its program, with the regions
  of loops and branches, and how the device carries that out once it has been seen
  before, part by part: kernels, bytes moved, and time, by which rules its operations
  were joined, and why the part ends where it does. The function is not run.

      IO.puts(NxVulkanGo.explain(&MyModule.step/2, [params, batch]))

  The result prints as text, shows itself in IEx and is a table in Livebook; see
  `NxVulkanGo.Explanation`. Times are estimates. With `profile: true` the device
  carries out each part on zeros, and its clock says how long that took.

  Takes the options of `Nx.Defn.jit/2`; of these, `:server`, `:device` and `:hooks`
  count. `NxVulkanGo.Options` says which there are; others raise `ArgumentError`.
  """
  @spec explain(fun, [term], keyword) :: NxVulkanGo.Explanation.t()
  def explain(fun, args, options \\ []), do: Compiler.explain(fun, args, options)

  @doc """
  The devices of a server, a list of maps with `:index`, `:name`, `:kind`,
  `:driver`, `:memory` and more.
  """
  @spec devices(keyword) :: [map]
  def devices(options \\ []), do: info(options).devices

  @doc "What a server is: its version, operating system and devices."
  @spec info(keyword) :: map
  def info(options \\ []), do: call(options, :info)

  @doc """
  The sessions on a server: a list of maps with `:device`, `:label`, `:buffers`,
  `:bytes` and `:limit`, for all clients.
  """
  @spec sessions(keyword) :: [map]
  def sessions(options \\ []), do: call(options, :sessions)

  @doc """
  Counters of a server, for all clients: a map of names, such as
  `:host_instructions_total`, to a map of the names of device servers, such as `:nxvk_0`,
  to numbers. `NxVulkanGo.Backend` says which of them tell where numbers were computed.
  """
  @spec metrics(keyword) :: %{atom => %{atom => number}}
  def metrics(options \\ []), do: call(options, :metrics)

  @doc """
  Memory in bytes and counts: `%{session: %{buffers: _, bytes: _, limit: _},
  device: %{used: _, reserved: _, peak: _, total: _, sessions: _}}`. The session is
  all of this VM on the device.
  """
  @spec memory(keyword) :: map
  def memory(options \\ []), do: options |> session!() |> Session.call!(:memory)

  @doc "Waits until a device has computed everything that this VM sent to it."
  @spec sync(keyword) :: :ok
  def sync(options \\ []), do: options |> session!() |> Session.sync()

  @doc """
  Frees what is garbage, now: the calling process collects its own, then the
  memory of tensors that no process refers to any more is given back.
  """
  @spec sweep(keyword) :: :ok
  def sweep(options \\ []) do
    session = session!(options)
    :erlang.garbage_collect()
    Session.sweep(session)
  end

  @doc "Connects to the server, starting it where it is this VM's own; returns its name."
  @spec connect(keyword) :: node
  def connect(options \\ []), do: Registry.fetch_server!(Options.backend!(options)[:server])

  defp session!(options), do: options |> Options.backend!() |> Registry.fetch!()

  defp call(options, request) do
    server = connect(options)

    case Distribution.call({:nxvk, server}, request, 30_000) do
      {:ok, reply} -> reply
      {:error, error} -> raise Error.from_wire(error)
    end
  catch
    :exit, {reason, _} -> raise Error.new(:server_down, Kernel.inspect(reason))
  end
end
