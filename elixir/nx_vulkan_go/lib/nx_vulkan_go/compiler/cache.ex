defmodule NxVulkanGo.Compiler.Cache do
  @moduledoc false
  # The programs of compiled functions, by function and types of the arguments.
  # Callers look a program up in a table. Where there is none, the first caller
  # compiles in its own process, and others that want the same program wait for it.
  # The oldest entries are dropped when there are many: functions that are made anew
  # for each call would fill the memory.
  #
  # A key may be large: the step of an Axon model captures the model, 4 MB for GPT-2, and a
  # table compares a key with its own copy. So each process keeps the programs that it called
  # last. It finds one of these at once where the function is the same term as in the call before.
  #
  # A key such as `&Model.step/2` stays the same when the module `Model`, or one that it
  # calls, is compiled again. So an entry has the version of the loaded code that it was
  # compiled from, and is compiled again when another version is loaded.

  use GenServer

  alias NxVulkanGo.Compiler.LoadedCode

  @programs __MODULE__
  @limit 4096
  @recent {__MODULE__, :recent}
  @drops {__MODULE__, :drops}
  @kept 4

  def start_link(_), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc """
  Returns the value of a key. Where there is none, `compute` makes it, once for all callers.
  An exception of `compute` is raised to its caller, and the next caller tries.
  """
  @spec fetch(term, (-> value)) :: value when value: term
  def fetch(key, compute) do
    # Code that runs while compiling may come before the application.
    if :ets.whereis(@programs) == :undefined,
      do: {:ok, _} = Application.ensure_all_started(:nx_vulkan_go)

    version = LoadedCode.version()
    stamp = {version, :atomics.get(:persistent_term.get(@drops), 1)}
    recent = Process.get(@recent, [])

    case recent do
      # Most calls are like the last one.
      [{^key, ^stamp, value} | _] -> value
      _ -> recall(recent, key, stamp) || remember(key, stamp, find(key, version, compute))
    end
  end

  defp recall(recent, key, stamp) do
    with {_, _, value} = entry <- Enum.find(recent, &match?({^key, ^stamp, _}, &1)) do
      Process.put(@recent, [entry | List.delete(recent, entry)])
      value
    end
  end

  defp remember(key, stamp, value) do
    others = for {k, ^stamp, _} = entry <- Process.get(@recent, []), k != key, do: entry
    Process.put(@recent, [{key, stamp, value} | Enum.take(others, @kept - 1)])
    value
  end

  defp find(key, version, compute) do
    case stored(key) do
      {^version, value} -> value
      _missing_or_obsolete -> claim(key, version, compute)
    end
  end

  # The key of the table is not copied.
  defp stored(key) do
    :ets.lookup_element(@programs, key, 2)
  rescue
    ArgumentError -> nil
  end

  defp claim(key, version, compute) do
    case GenServer.call(__MODULE__, {:claim, key, version}, :infinity) do
      {:ok, value} -> value
      :compute -> compute(key, version, compute)
      # The function compiles itself while it is compiled.
      :reentered -> compute.()
    end
  end

  # Modules that the function has loaded are known to `LoadedCode` before they can be
  # replaced.
  defp compute(key, version, compute) do
    value = compute.()
    LoadedCode.version()
    GenServer.call(__MODULE__, {:done, key, version, value})
    value
  catch
    kind, reason ->
      GenServer.cast(__MODULE__, {:failed, key, self()})
      :erlang.raise(kind, reason, __STACKTRACE__)
  end

  @doc "Returns the number of entries."
  @spec size :: non_neg_integer
  def size, do: :ets.info(@programs, :size)

  @doc "Sets the maximum number of entries, 4096 at first; returns the former one."
  @spec limit(pos_integer) :: pos_integer
  def limit(count), do: GenServer.call(__MODULE__, {:limit, count})

  @doc "Drops all entries; the next calls compile again."
  @spec clear :: :ok
  def clear, do: GenServer.call(__MODULE__, :clear)

  ## The process

  @impl true
  def init(nil) do
    drops = :atomics.new(1, [])
    :atomics.put(drops, 1, System.unique_integer([:positive]))
    :persistent_term.put(@drops, drops)
    :ets.new(@programs, [:named_table, :protected, read_concurrency: true])
    {:ok, %{claims: %{}, keys: :queue.new(), limit: @limit}}
  end

  @impl true
  def handle_call({:claim, key, version}, {pid, _} = from, state) do
    case {stored(key), state.claims} do
      {{^version, value}, _} ->
        {:reply, {:ok, value}, state}

      {_, %{^key => {^pid, _monitor, _waiting}}} ->
        {:reply, :reentered, state}

      {_, %{^key => {owner, monitor, waiting}}} ->
        {:noreply, put_in(state.claims[key], {owner, monitor, [from | waiting]})}

      _ ->
        {:reply, :compute, assign_claim(state, key, pid, [])}
    end
  end

  def handle_call({:done, key, version, value}, _from, state) do
    {{_owner, monitor, waiting}, claims} = Map.pop!(state.claims, key)
    Process.demonitor(monitor, [:flush])
    keys = if :ets.member(@programs, key), do: state.keys, else: :queue.in(key, state.keys)
    :ets.insert(@programs, {key, {version, value}})
    for from <- waiting, do: GenServer.reply(from, {:ok, value})
    {:reply, :ok, trim(%{state | claims: claims, keys: keys})}
  end

  def handle_call({:limit, count}, _from, state),
    do: {:reply, state.limit, trim(%{state | limit: count})}

  def handle_call(:clear, _from, state) do
    :ets.delete_all_objects(@programs)
    dropped()
    {:reply, :ok, %{state | keys: :queue.new()}}
  end

  @impl true
  def handle_cast({:failed, key, pid}, state), do: {:noreply, release_claim(state, key, pid)}

  @impl true
  def handle_info({:DOWN, monitor, :process, pid, _}, state) do
    keys = for {key, {^pid, ^monitor, _}} <- state.claims, do: key
    {:noreply, Enum.reduce(keys, state, &release_claim(&2, &1, pid))}
  end

  def handle_info(_other, state), do: {:noreply, state}

  defp assign_claim(state, key, pid, waiting),
    do: put_in(state.claims[key], {pid, Process.monitor(pid), waiting})

  # The caller that has waited longest tries next.
  defp release_claim(state, key, pid) do
    case state.claims do
      %{^key => {^pid, monitor, waiting}} ->
        Process.demonitor(monitor, [:flush])
        pass_claim(%{state | claims: Map.delete(state.claims, key)}, key, Enum.reverse(waiting))

      _ ->
        state
    end
  end

  defp pass_claim(state, _key, []), do: state

  defp pass_claim(state, key, [{pid, _} = from | waiting]) do
    GenServer.reply(from, :compute)
    assign_claim(state, key, pid, Enum.reverse(waiting))
  end

  # Processes forget the programs that they keep.
  defp dropped, do: :atomics.add(:persistent_term.get(@drops), 1, 1)

  defp trim(state) do
    if :queue.len(state.keys) > state.limit do
      {{:value, key}, keys} = :queue.out(state.keys)
      :ets.delete(@programs, key)
      dropped()
      trim(%{state | keys: keys})
    else
      state
    end
  end
end
