defmodule NxVulkanGo.Compiler.LoadedCode do
  @moduledoc false
  # A version number of the code that this VM has loaded. It grows when a module is replaced
  # by another version of itself, as in a Livebook cell that is run again, in IEx by `r/1`,
  # or by `recompile/0`. Programs that were traced from the former code are obsolete then.
  #
  # Every load goes through the code server, so as long as that process has done
  # nothing, no module has been replaced: its reductions are read in a tenth of a
  # microsecond. When they have changed, the checksums of all modules are compared, in
  # about 0.2 microseconds a module. A module that is loaded for the first time changes
  # nothing: nobody can have called it before.

  use GenServer

  @table __MODULE__

  def start_link(_), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "Returns the version of the loaded code."
  @spec version :: non_neg_integer
  def version do
    activity = code_server_activity()

    case :ets.lookup(@table, :version) do
      [{_, ^activity, version}] -> version
      _ -> GenServer.call(__MODULE__, :version, :infinity)
    end
  end

  defp code_server_activity do
    {:reductions, reductions} = Process.info(Process.whereis(:code_server), :reductions)
    reductions
  end

  @impl true
  def init(nil) do
    :ets.new(@table, [:named_table, :protected, read_concurrency: true])
    {:ok, update({0, %{}})}
  end

  @impl true
  def handle_call(:version, _from, state) do
    {version, _checksums} = state = update(state)
    {:reply, version, state}
  end

  # The activity is read first: a load that comes in between is seen the next time.
  defp update({version, checksums}) do
    activity = code_server_activity()
    {replaced?, checksums} = Enum.reduce(:erlang.loaded(), {false, checksums}, &compare/2)
    version = if replaced?, do: version + 1, else: version
    :ets.insert(@table, {:version, activity, version})
    {version, checksums}
  end

  # The checksum of a module that has been deleted stays known: it may be loaded again.
  defp compare(module, {replaced?, checksums}) do
    checksum = :erlang.get_module_info(module, :md5)

    case checksums do
      %{^module => ^checksum} -> {replaced?, checksums}
      %{^module => _other} -> {true, Map.put(checksums, module, checksum)}
      _ -> {replaced?, Map.put(checksums, module, checksum)}
    end
  rescue
    # It has been deleted since.
    ArgumentError -> {replaced?, checksums}
  end
end
