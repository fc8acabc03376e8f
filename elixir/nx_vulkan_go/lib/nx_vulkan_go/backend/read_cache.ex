defmodule NxVulkanGo.Backend.ReadCache do
  @moduledoc false
  # Elements of small tensors on a device, for a process that reads them piece by piece.
  #
  # A loop that runs an operation at a time, as under Nx.Defn.Evaluator, picks an element of a
  # tensor and decides by it, and each decision waits for the device. So when a process has read,
  # for the second time, a result that comes from a piece of a small tensor, it reads the whole
  # tensor once. Operations that move its elements are then those of this VM: see Literal. The bits of
  # moved elements are the same anywhere.
  #
  # All of it is in the dictionary of the process and is bounded. It keeps no value alive: values
  # are known by their ids, and what has been freed is unknown.

  alias Nx.Tensor, as: T
  alias NxVulkanGo.Backend, as: B
  alias NxVulkanGo.Backend.Literal
  alias NxVulkanGo.{Encoding, Error, Options, Session}
  alias NxVulkanGo.Session.Tracker

  # Instructions whose result is a piece of their first operand, and those that change a piece of it.
  @pieces [:slice, :gather, :take, :take_along_axis]
  @changes [:put_slice, :indexed_put, :reshape, :squeeze]

  # A tensor has at most so many bytes: less than a read of one element takes, even far away.
  @most_bytes 16_384
  # Entries of a generation. The older of two is dropped when the younger is full.
  @most_tensors 32
  @most_results 64
  @most_origins 8
  # A tensor is read at the second read of something that comes from it.
  @reads 2
  @most_credit 64

  # tensors: key => how often something that comes from it was read, its elements, or :unreadable
  # origins: key of a small result => keys of the tensors that it comes from pieces of
  # A key is the process of a session and an id.
  # credit: how many tensors may be read besides those that the process reads
  defstruct tensors: {%{}, %{}}, origins: {%{}, %{}}, credit: 0

  @doc "Returns a tensor with its elements in the struct where they are known, else the tensor."
  @spec known(T.t()) :: T.t()
  def known(%T{data: %B{session: %Session{pid: pid}, id: id} = data} = tensor) do
    with %__MODULE__{tensors: tensors} <- Process.get(__MODULE__),
         elements when is_binary(elements) <- get(tensors, {pid, id}),
         true <- node(pid) == node() and Tracker.held?(data) do
      %{tensor | data: literal(data, elements)}
    else
      _ -> tensor
    end
  end

  def known(tensor), do: tensor

  defp literal(%B{session: session, type: type, shape: shape}, elements) do
    options = [server: session.server, device: session.device]
    %B{literal: elements, type: type, shape: shape, options: options}
  end

  @doc """
  Returns the operands of an operation that moves elements of the first, tensors or numbers, with their
  elements where these are known. If those of the first are, a small one of the others is read where it
  is not, which keeps the operation in this VM; but no more tensors are read so than the
  process itself has read.
  """
  @spec operands([T.t() | number]) :: [T.t() | number]
  def operands([first | rest] = tensors) do
    if Process.get(__MODULE__) == nil do
      tensors
    else
      case known(first) do
        %T{data: %B{id: nil, session: nil}} = first -> [first | Enum.map(rest, &fetched/1)]
        _ -> tensors
      end
    end
  end

  defp fetched(%T{data: %B{session: %Session{} = session, id: id} = data} = tensor) do
    cache = Process.get(__MODULE__)
    key = key(tensor)

    if cache.credit > 0 and Literal.stays?(tensor) and get(cache.tensors, key) == nil and
         node(session.pid) == node() and Tracker.held?(data) do
      Process.put(__MODULE__, %{cache | credit: cache.credit - 1})
      store(key, download(session, id))
    end

    known(tensor)
  end

  defp fetched(operand), do: operand

  @doc "Notes what an instruction makes of which tensors, for `read/2`."
  @spec note(atom, T.t() | tuple, [T.t()]) :: :ok
  def note(op, %T{shape: shape, data: %B{id: id, session: session}}, [first | _] = tensors) do
    cache = Process.get(__MODULE__)
    piece? = op in @pieces and small?(first)

    if cache != nil or piece? do
      cache = cache || %__MODULE__{}
      key = {session.pid, id}
      if op in @changes, do: inherit(cache, key, key(first))
      if Tuple.product(shape) <= Options.vm_limit(), do: trace(cache, key, piece?, tensors)
    end

    :ok
  end

  def note(_op, _result, _tensors), do: :ok

  # Who reads pieces of a tensor reads those of a changed one, too.
  defp inherit(cache, key, from) do
    with reads when is_integer(reads) <- get(cache.tensors, from), do: store(key, reads)
  end

  defp trace(cache, key, piece?, [first | _] = tensors) do
    origins = for t <- tensors, k = key(t), origin <- get(cache.origins, k) || [], do: origin
    origins = if piece?, do: [key(first) | origins], else: origins

    if origins != [] do
      origins = origins |> Enum.uniq() |> Enum.take(@most_origins)
      cache = Process.get(__MODULE__, cache)
      origins = put(cache.origins, key, origins, @most_results)
      Process.put(__MODULE__, %{cache | origins: origins})
    end
  end

  defp key(%T{data: %B{session: %Session{pid: pid}, id: id}}), do: {pid, id}
  defp key(_tensor), do: nil

  defp small?(%T{data: %B{session: %Session{}, type: type, shape: shape}}),
    do: Tuple.product(shape) * Encoding.element_size(type) <= @most_bytes

  defp small?(_tensor), do: false

  @doc "Counts a read of a value, and reads the tensors that it comes from when that pays."
  @spec read(Session.t(), struct) :: :ok
  def read(%Session{pid: pid} = session, %B{id: id}) do
    with %__MODULE__{origins: origins, credit: credit} = cache <- Process.get(__MODULE__) do
      Process.put(__MODULE__, %{cache | credit: min(credit + 1, @most_credit)})
      for {^pid, origin} = key <- get(origins, {pid, id}) || [], do: count(session, origin, key)
    end

    :ok
  end

  defp count(session, id, key) do
    case get(Process.get(__MODULE__).tensors, key) || 0 do
      reads when is_integer(reads) and reads + 1 < @reads -> store(key, reads + 1)
      reads when is_integer(reads) -> store(key, download(session, id))
      _known_or_unreadable -> :ok
    end
  end

  defp store(key, entry) do
    cache = Process.get(__MODULE__)
    Process.put(__MODULE__, %{cache | tensors: put(cache.tensors, key, entry, @most_tensors)})
    :ok
  end

  # The tensor may have been freed, or have an error.
  defp download(session, id) do
    Session.download(session, id, :all)
  rescue
    Error -> :unreadable
  end

  defp get({young, old}, key) do
    case young do
      %{^key => value} -> value
      _ -> Map.get(old, key)
    end
  end

  defp put({young, _old}, key, value, most)
       when map_size(young) >= most and not is_map_key(young, key),
       do: {%{key => value}, young}

  defp put({young, old}, key, value, _most), do: {Map.put(young, key, value), old}
end
