defmodule NxVulkanGo.Session do
  @moduledoc """
  The connection of this VM to one device of one server.

  There is one session for each device; the first operation opens it. Its process
  puts all instructions in one order: it gathers those that wait in its mailbox and
  sends them to the device server as one message. Callers choose the ids of results
  themselves, so an operation is a message and not a call. Only reading waits.

  A session ends when its server ends or is restarted. Its tensors are then stale,
  and the next operation opens another session.

  Each tensor carries the struct. It has everything that another BEAM node needs to
  use the tensor: see "Sending tensors to other nodes" in `NxVulkanGo.Backend`. The
  guide "Design" explains ids, order and memory.
  """

  alias NxVulkanGo.{Check, Encoding, Error, Telemetry, TraceContext}
  alias NxVulkanGo.Session.{MemoryPressure, Tracker}

  @enforce_keys [:pid, :address, :server, :device, :incarnation, :key, :counters]
  defstruct @enforce_keys

  @type t :: %__MODULE__{
          pid: pid,
          # the pid as the server knows it
          address: pid,
          server: node,
          device: non_neg_integer,
          incarnation: integer,
          key: term,
          counters: :atomics.atomics_ref()
        }

  # Places in the counters.
  @last_id 1
  @allowed 2
  @closed 3
  @bytes 4
  @done_bytes 5
  @live_bytes 6
  @check_at 7
  @budget 8
  @kept_bytes 9
  @extra_of_each 10

  # How far uploads may run ahead of the device.
  @ahead_bytes 256 * 1024 * 1024

  # Before the first word of the server callers may make @first_ids values. One that is as far ahead as the
  # server allows may make some more before it waits for the next word: one that makes few does not wait for
  # one that makes many. These are as many as the server allows to be ahead, for all callers together, but no
  # fewer than @least_extra for each, and no more than @most_extra. None waits for longer than @longest_wait
  # milliseconds.
  @first_ids 16
  @least_extra 2
  @most_extra 256
  @longest_wait 5_000
  @extra {__MODULE__, :extra}

  # Garbage is looked for whenever values have grown by a quarter of what was kept the last time, or by
  # so many bytes if that is more. An H200 takes 170 µs to write as much, as long as the look takes. A
  # small device is looked through as often as the largest part of its budget says.
  @growth 512 * 1024 * 1024
  @checks 16
  # More than a node takes, which says so; a counter has 64 bits.
  @most_bytes 2 ** 52
  @unlimited 64 * 1024 * 1024 * 1024

  @doc false
  # `budget` is how many bytes of the device the values of the session may take.
  def new_counters(budget \\ @unlimited) do
    counters = :atomics.new(10, signed: true)
    :atomics.put(counters, @budget, budget)
    :atomics.put(counters, @check_at, growth(budget, 0))
    :atomics.put(counters, @allowed, @first_ids)
    :atomics.put(counters, @extra_of_each, @least_extra)
    counters
  end

  ## Values

  @doc """
  Makes a value of `bytes` bytes. Returns its id, its token, and the tracker that watches
  the token. The value lives until nothing refers to the token, a binary.
  """
  @spec new_value(t, non_neg_integer) :: {pos_integer, binary, pid}
  def new_value(%__MODULE__{counters: counters} = session, bytes) do
    bytes = min(bytes, @most_bytes)
    id = new_id(session)
    throttle(session, id)
    live = :atomics.add_get(counters, @live_bytes, bytes)
    if live > :atomics.get(counters, @check_at), do: make_room(session)
    Tracker.hold(session, id, bytes)
  end

  @doc "Makes the values of one instruction; `list` has the bytes of each."
  @spec new_values(t, [non_neg_integer]) :: [{pos_integer, binary, pid}]
  def new_values(session, [bytes]), do: [new_value(session, bytes)]

  def new_values(%__MODULE__{counters: counters} = session, list) do
    count = length(list)
    list = Enum.map(list, &min(&1, @most_bytes))
    last = :atomics.add_get(counters, @last_id, count)
    throttle(session, last - count + 1)
    live = :atomics.add_get(counters, @live_bytes, :lists.sum(list))
    if live > :atomics.get(counters, @check_at), do: make_room(session)
    first = last - count + 1
    for {bytes, i} <- Enum.with_index(list), do: Tracker.hold(session, first + i, bytes)
  end

  @doc "Makes an id for a value that has no token, because an instruction frees it."
  @spec new_id(t) :: pos_integer
  def new_id(%__MODULE__{counters: counters}), do: :atomics.add_get(counters, @last_id, 1)

  defp throttle(%__MODULE__{counters: counters} = session, id) do
    allowed = :atomics.get(counters, @allowed)
    if id > allowed, do: throttle(session, id, allowed, Process.get(@extra))
    :ok
  end

  defp throttle(%{pid: pid}, _id, allowed, {pid, allowed, left}) when left > 0,
    do: Process.put(@extra, {pid, allowed, left - 1})

  defp throttle(%{pid: pid} = session, id, allowed, {pid, allowed, 0}) do
    if wait(session, id) == :timeout, do: grant(session, allowed)
  end

  defp throttle(session, _id, allowed, _of_before), do: grant(session, allowed)

  defp grant(%{pid: pid, counters: counters}, allowed),
    do: Process.put(@extra, {pid, allowed, :atomics.get(counters, @extra_of_each) - 1})

  defp wait(%__MODULE__{pid: pid} = session, id) do
    ref = Process.monitor(pid, alias: :reply_demonitor)
    send(pid, {:wait, ref, id})

    receive do
      {^ref, :go} -> :ok
      {:DOWN, ^ref, _, _, reason} -> raise down(session, reason)
    after
      @longest_wait ->
        Process.demonitor(ref, [:flush])
        :timeout
    end
  end

  # The frees of garbage must be in the stream before the values that need the
  # memory; otherwise the device reaches these first and fails. So a caller whose
  # values have grown much waits here for the frees.
  defp make_room(%__MODULE__{counters: counters} = session) do
    budget = :atomics.get(counters, @budget)
    kept = :atomics.get(counters, @kept_bytes)
    # Other callers are not held up meanwhile.
    :atomics.put(counters, @check_at, live_bytes(session) + div(budget, 4))
    :erlang.garbage_collect(self(), type: :minor)
    Tracker.sweep_and_wait(session, :routine)

    # Garbage that has lived through two collections is in the old heap. What is kept is what a full collection leaves.
    if live_bytes(session) > kept + div(growth(budget, kept), 2) do
      :erlang.garbage_collect()
      Tracker.sweep_and_wait(session, :routine)
      :atomics.put(counters, @kept_bytes, live_bytes(session))
    end

    if live_bytes(session) * 4 > budget * 3, do: MemoryPressure.relieve(session)
    kept = :atomics.get(counters, @kept_bytes)
    :atomics.put(counters, @check_at, live_bytes(session) + growth(budget, kept))
  end

  defp live_bytes(session), do: :atomics.get(session.counters, @live_bytes)

  defp growth(budget, kept), do: min(div(budget, @checks), max(@growth, div(kept, 4)))

  @doc false
  def count_freed(%__MODULE__{counters: counters}, bytes),
    do: :atomics.sub(counters, @live_bytes, bytes)

  ## Messages

  @doc "Sends an instruction."
  @spec instruct(t, tuple) :: :ok
  def instruct(session, instruction) do
    send(session.pid, {:instruction, instruction})
    :ok
  end

  @doc "Sends instructions that belong together. `foreign` are operands of other BEAM nodes."
  @spec instruct(t, [tuple], [struct]) :: :ok
  def instruct(session, instructions, []) do
    send(session.pid, {:instructions, instructions})
    :ok
  end

  def instruct(session, instructions, foreign) do
    send(session.pid, {:instructions, instructions, foreign})
    :ok
  end

  @doc """
  Sends instructions that run a program. The program has a `key` and its `code`, a region
  in external term format, which is sent unless the node has it. A program that `loops`
  is cancelled when nobody refers to its results any more.
  """
  @spec run(t, %{key: binary, code: binary, loops: boolean}, [tuple], [struct]) :: :ok
  def run(session, program, instructions, foreign) do
    send(session.pid, {:run, program, instructions, foreign})
    :ok
  end

  @doc "Keeps a term alive up to this call; the compiler would drop it after its last use."
  @spec keep_alive(term) :: :ok
  def keep_alive(_term), do: :ok

  @doc false
  @deprecated "Use keep_alive/1"
  def touch(term), do: keep_alive(term)

  @doc "Uploads bytes of the wire as the value `id`."
  @spec upload(t, pos_integer, Nx.Type.t(), tuple, binary) :: :ok
  def upload(session, id, type, shape, data) when byte_size(data) < 1024,
    do: send_data(session, id, type, shape, data)

  def upload(session, id, type, shape, data) do
    Telemetry.transfer(:upload, place(session), fn ->
      {send_data(session, id, type, shape, data), byte_size(data)}
    end)
  end

  defp send_data(session, id, type, shape, data) do
    size = byte_size(data)
    sent = :atomics.add_get(session.counters, @bytes, size)

    if sent - :atomics.get(session.counters, @done_bytes) > @ahead_bytes + size,
      do: sync(session)

    type = Encoding.type_to_atom(type)
    instruction = {:tensor, [{id, type, shape}], [{type, shape, data}], []}
    send(session.pid, {:upload, Check.annotate(instruction), size})
    :ok
  end

  @doc """
  Reads `count` elements of a value, or all of them, as bytes of the wire.
  """
  @spec download(t, pos_integer, :all | non_neg_integer) :: binary
  def download(session, id, count) do
    request = if count == :all, do: {:download, id}, else: {:download, id, 0, count}

    Telemetry.transfer(:download, place(session), fn ->
      data = call!(session, TraceContext.request(request))
      {data, byte_size(data)}
    end)
  end

  defp place(session), do: Map.take(session, [:server, :device])

  @doc """
  Makes a value the copy of one that a session of another device of the server has, `source`, which is
  freed when the server has copied it.
  """
  @spec copy_from(t, tuple, struct) :: :ok
  def copy_from(session, {id, _type, _shape} = result, %{session: other} = source) do
    operand =
      {:shared, :"nxvk_#{other.device}", other.incarnation, other.address, other.key, source.id}

    instructions = Check.annotate({:import, [result], [operand], []})
    send(session.pid, {:import, instructions, id, source})
    :ok
  end

  @doc "Waits until the instructions that this process has sent are on their way to the server."
  @spec flush(t) :: :ok
  def flush(%__MODULE__{pid: pid} = session) do
    ref = Process.monitor(pid)
    send(pid, {:flush, {self(), ref}})

    receive do
      {^ref, :ok} -> Process.demonitor(ref, [:flush]) && :ok
      {:DOWN, ^ref, _, _, reason} -> raise down(session, reason)
    end
  end

  @doc "Waits until the device has computed everything that was sent before."
  @spec sync(t) :: :ok
  def sync(session), do: call!(session, :sync)

  @doc "Calls the device server, in the order of the stream; raises `NxVulkanGo.Error`."
  @spec call!(t, term) :: term
  def call!(session, request), do: reply!(call(session, request))

  defp reply!({:ok, reply}), do: reply
  defp reply!(:ok), do: :ok
  defp reply!({:error, error}), do: raise(error)

  @doc "Calls with a request that names a program, which is sent unless the node has it."
  @spec call!(t, term, %{key: binary, code: binary}) :: term
  def call!(session, request, program), do: reply!(call(session, request, program))

  @doc "Calls the device server; returns errors as values."
  @spec call(t, term, nil | %{key: binary, code: binary}) ::
          :ok | {:ok, term} | {:error, Error.t()}
  def call(%__MODULE__{pid: pid} = session, request, program \\ nil) do
    ref = Process.monitor(pid)

    if program,
      do: send(pid, {:call, {self(), ref}, request, Map.take(program, [:key, :code, :share])}),
      else: send(pid, {:call, {self(), ref}, request})

    receive do
      {^ref, reply} ->
        Process.demonitor(ref, [:flush])
        with {:error, error} <- reply, do: {:error, failed(session, Error.from_wire(error))}

      {:DOWN, ^ref, _, _, reason} ->
        {:error, down(session, reason)}
    end
  end

  # The server answers `stale` when it has been restarted: this session is over.
  defp failed(session, %Error{kind: :stale} = error) do
    send(session.pid, :stale)
    error
  end

  defp failed(_session, error), do: error

  defp down(session, reason) do
    if reason in [:noproc, {:shutdown, :stale}],
      do:
        Error.new(
          :stale,
          "device #{session.device} of #{session.server} was restarted, or its session was closed"
        ),
      else: Error.gone(session.server, reason)
  end

  @doc "Has all trackers look for garbage, and waits for the frees."
  @spec sweep(t) :: :ok
  def sweep(session) do
    Tracker.sweep_and_wait(session, :routine)
    sync(session)
  end

  ## State

  @doc "Whether the session has ended."
  @spec closed?(t) :: boolean
  def closed?(%__MODULE__{counters: counters}), do: :atomics.get(counters, @closed) == 1

  @doc false
  def close(%__MODULE__{counters: counters}), do: :atomics.put(counters, @closed, 1)

  @doc false
  # Values up to the id may be made, `window` more than are carried out. `callers` is how many processes make values.
  def allow(%__MODULE__{counters: counters}, id, window, callers) do
    extra = max(@least_extra, div(min(window, @most_extra), max(callers, 1)))
    :atomics.put(counters, @extra_of_each, extra)
    :atomics.put(counters, @allowed, id)
  end

  @doc false
  def allowed?(%__MODULE__{counters: counters}, id), do: id <= :atomics.get(counters, @allowed)

  @doc false
  def uploaded(%__MODULE__{counters: counters}), do: :atomics.get(counters, @bytes)

  @doc false
  def record_uploaded(%__MODULE__{counters: counters}, bytes),
    do: :atomics.put(counters, @done_bytes, bytes)

  @doc "Raises unless the session can be used."
  @spec check!(t) :: t
  def check!(session) do
    if closed?(session), do: raise_closed!(session), else: session
  end

  @doc false
  @spec raise_closed!(t) :: no_return
  def raise_closed!(session) do
    raise down(session, :noproc)
  end
end
