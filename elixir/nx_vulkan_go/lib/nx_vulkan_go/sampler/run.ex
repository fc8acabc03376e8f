defmodule NxVulkanGo.Sampler.Run do
  @moduledoc false
  # A run of chains. Its process has a session of its own on the device server, so
  # that the server frees everything of the run when that process ends: because the run is
  # over, was stopped, or its caller has ended. The data are imported from the session of
  # this VM and not sent again.
  #
  # The node sends a fixed number of messages of draws, and one more for each that the
  # caller takes. So a slow caller makes chains wait.

  alias NxVulkanGo.{Backend, Distribution, Encoding, Error}
  alias NxVulkanGo.Sampler.{Options, Session}
  alias NxVulkanGo.Session.Registry

  @enforce_keys [:pid, :ref]
  defstruct @enforce_keys

  @type t :: %__MODULE__{pid: pid, ref: reference}

  @type event ::
          {:draws, chain :: non_neg_integer, :warmup | :draws, count :: pos_integer,
           positions :: binary, statistics :: binary}
          | {:chain, chain :: non_neg_integer, {:ok, ending}}
          | {:report, chains :: binary}

  @type ending :: %{
          step: float,
          metric: binary,
          starts: pos_integer,
          failures: non_neg_integer,
          failure: binary | nil
        }

  # The first message may find a driver that compiles.
  @timeout 60_000

  # Messages of draws for each chain: one that is used, and one on its way.
  @ahead 2

  @doc """
  Starts chains of a session; options are those of `Options.validate!/1`. The node reports
  progress every `report` milliseconds; 0 is never.
  """
  @spec start(Session.t(), map, non_neg_integer) :: t
  def start(%Session{} = session, options, report \\ 0) do
    vm = Registry.fetch!(session.place)
    request = options |> Options.wire(session) |> Map.put(:report, report)
    caller = self()
    {pid, ref} = spawn_monitor(fn -> work(caller, vm, session, request) end)
    %__MODULE__{pid: pid, ref: ref}
  end

  @doc "Waits for the next event; raises the error that ended the run."
  @spec next(t) :: event
  def next(%__MODULE__{pid: pid, ref: ref}) do
    receive do
      {^pid, {:chain, _chain, {:error, error}}} ->
        raise Error.from_wire(error)

      {^pid, {:draws, _, _, _, _, _} = event} ->
        send(pid, :more)
        event

      {^pid, {:report, _} = event} ->
        send(pid, :reported)
        event

      {^pid, event} ->
        event

      {:DOWN, ^ref, _, _, {:shutdown, %Error{} = error}} ->
        raise error

      {:DOWN, ^ref, _, _, reason} ->
        raise Error.new(:internal, "the process of the chains ended: #{inspect(reason)}")
    end
  end

  @doc "Ends the run, if it has not ended; drops its messages."
  @spec stop(t) :: :ok
  def stop(%__MODULE__{pid: pid, ref: ref} = run) do
    Process.demonitor(ref, [:flush])
    gone = Process.monitor(pid)
    Process.exit(pid, :kill)

    receive do
      {:DOWN, ^gone, _, _, _} -> flush(run)
    end
  end

  defp flush(%{pid: pid} = run) do
    receive do
      {^pid, _} -> flush(run)
    after
      0 -> :ok
    end
  end

  ## The process

  defp work(caller, vm, session, request) do
    server = {:"nxvk_#{vm.device}", vm.server}
    Process.monitor(caller)
    monitor = Distribution.monitor(server)
    {operands, imports} = operands(session.inputs)
    program = {:program, [], [], [session.model.key, :erlang.binary_to_term(session.model.code)]}
    open = Map.take(NxVulkanGo.Options.session!(), [:weight])
    open = Map.put(open, :label, "chains of #{node()} #{inspect(caller)}")
    call!(vm, server, {:open, open})
    Distribution.send(server, {:nxvk, vm.incarnation, [program | imports]})
    request = Map.merge(request, %{data: operands, credit: @ahead * request.chains})
    run = call!(vm, server, {:sample, request})
    state = %{caller: caller, server: server, monitor: monitor, run: run, reported: true}
    forward(state, request.chains)
    # The data of the run belong to this VM's session: they stay as long.
    NxVulkanGo.Session.keep_alive(session)
  end

  # Values of this VM's session by import, scalars as they are.
  defp operands(tensors) do
    tensors
    |> Enum.with_index(1)
    |> Enum.map_reduce([], fn
      {%{data: %Backend{id: nil, literal: literal}} = t, _id}, imports ->
        {{Encoding.type_to_atom(t.type), literal}, imports}

      {%{type: type, shape: shape, data: %Backend{session: vm, id: theirs}}, id}, imports ->
        result = {id, Encoding.type_to_atom(type), shape}
        {id, [{:import, [result], [{:shared, vm.address, vm.key, theirs}], []} | imports]}
    end)
  end

  defp call!(vm, server, request) do
    case Distribution.call(server, {:at, vm.incarnation, request}, @timeout) do
      {:ok, reply} -> reply
      {:error, error} -> exit({:shutdown, Error.from_wire(error)})
    end
  catch
    :exit, {reason, {GenServer, :call, _}} -> exit({:shutdown, down(reason)})
  end

  defp down(reason), do: Error.gone("the server of the chains", reason)

  defp forward(_state, 0), do: :ok

  defp forward(%{run: run, monitor: monitor} = state, left) do
    receive do
      {:nxvk_draws, _server, ^run, chain, phase, count, positions, statistics} ->
        send(state.caller, {self(), {:draws, chain, phase, count, positions, statistics}})
        forward(state, left)

      :more ->
        Distribution.send(state.server, {:nxvk_more, run, 1})
        forward(state, left)

      # A caller that has not looked at the last one gets no other.
      {:nxvk_progress, _server, ^run, chains} when state.reported ->
        send(state.caller, {self(), {:report, chains}})
        forward(%{state | reported: false}, left)

      {:nxvk_progress, _server, ^run, _chains} ->
        forward(state, left)

      :reported ->
        forward(%{state | reported: true}, left)

      {:nxvk_chain, _server, ^run, chain, result} ->
        send(state.caller, {self(), {:chain, chain, result}})
        forward(state, left - 1)

      {:nxvk_error, _server, error} ->
        exit({:shutdown, Error.from_wire(error)})

      {:DOWN, ^monitor, _, _, reason} ->
        exit({:shutdown, down(reason)})

      {:DOWN, _caller, _, _, _} ->
        exit(:normal)
    end
  end
end
