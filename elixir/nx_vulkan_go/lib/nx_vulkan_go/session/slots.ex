defmodule NxVulkanGo.Session.Slots do
  @moduledoc false
  # The slots of one tracker, shared by callers, who take them, and the tracker, which gives
  # them back. Neither sends the other a message for that.
  #
  # The state of a slot, in an array of atomics, is
  #
  #     0           free
  #     @claimed    claimed by a caller that does not have the token yet
  #     id          the value; its caller holds the token or has dropped it
  #     @released   a value that was freed while somebody may hold the token
  #
  # Only callers change a slot from 0, and only the tracker changes it back to 0; both free
  # values. A second array has the bytes of the values, and a counter counts all values.
  #
  # The token of a slot is a binary with a size that no other slot has. It is made when the
  # slot is taken for the first time, and stays in a table.

  @count 1024
  @first_size 65
  @claimed -1
  @released -2

  # Tokens are copies of a part of this binary; that is faster than repeating a byte.
  @longest :binary.copy(<<0>>, @first_size + @count)

  # Where a slot is taken, the next one to try is a stride further.
  @stride 67
  @probes 16

  @enforce_keys [:states, :bytes, :arrived, :tokens]
  defstruct @enforce_keys

  @type t :: %__MODULE__{
          states: :atomics.atomics_ref(),
          bytes: :atomics.atomics_ref(),
          arrived: :atomics.atomics_ref(),
          tokens: :ets.table()
        }

  @type slot :: 0..unquote(@count - 1)

  @doc "Makes the slots, all free. The table of tokens belongs to the calling process."
  @spec new :: t
  def new do
    %__MODULE__{
      states: :atomics.new(@count, signed: true),
      bytes: :atomics.new(@count, signed: true),
      arrived: :atomics.new(1, signed: true),
      tokens: :ets.new(__MODULE__, [:public, read_concurrency: true])
    }
  end

  @doc "Returns the number of slots."
  @spec count :: pos_integer
  def count, do: @count

  @doc "Returns the slot of a token."
  @spec slot(binary) :: slot
  def slot(token), do: slot_of_size(byte_size(token))

  @doc "Returns the slot whose token has `size` bytes, or nil."
  @spec slot_of_size(non_neg_integer) :: slot | nil
  def slot_of_size(size) when size >= @first_size and size < @first_size + @count,
    do: size - @first_size

  def slot_of_size(_size), do: nil

  ## Of callers

  @doc "Claims a free slot near `at`; nil where there is none."
  @spec claim(t, non_neg_integer) :: slot | nil
  def claim(%__MODULE__{states: states}, at), do: claim(states, at, @probes)

  defp claim(_states, _at, 0), do: nil

  defp claim(states, at, tries) do
    slot = rem(at, @count)

    case :atomics.compare_exchange(states, slot + 1, 0, @claimed) do
      :ok -> slot
      _ -> claim(states, at + @stride, tries - 1)
    end
  end

  @doc """
  Gives a claimed slot to the value `id` of `bytes` bytes. Returns the token, and the
  number of slots that were given before.
  """
  @spec give(t, slot, pos_integer, non_neg_integer) :: {binary, non_neg_integer}
  def give(%__MODULE__{states: states} = slots, slot, id, bytes) do
    token = token(slots, slot)
    # A caller may be killed anywhere, so a value is counted before it exists.
    before = :atomics.add_get(slots.arrived, 1, 1) - 1
    :atomics.put(slots.bytes, slot + 1, bytes)
    :atomics.put(states, slot + 1, id)
    {token, before}
  end

  @doc "Returns the token of a slot."
  @spec token(t, slot) :: binary
  def token(%__MODULE__{tokens: tokens}, slot) do
    case :ets.lookup(tokens, slot) do
      [{_, token}] ->
        token

      [] ->
        token = :binary.copy(binary_part(@longest, 0, @first_size + slot))
        :ets.insert(tokens, {slot, token})
        token
    end
  end

  @doc "Whether a slot has the value `id`, which has not been freed."
  @spec holds?(t, slot, pos_integer) :: boolean
  def holds?(%__MODULE__{states: states}, slot, id), do: :atomics.get(states, slot + 1) == id

  @doc "Releases the value of a slot, if it is `id`; the slot stays taken."
  @spec release(t, slot, pos_integer) :: boolean
  def release(%__MODULE__{states: states}, slot, id),
    do: :atomics.compare_exchange(states, slot + 1, id, @released) == :ok

  ## Of the tracker

  @doc "Returns the number of slots that have been given so far."
  @spec given_count(t) :: non_neg_integer
  def given_count(%__MODULE__{arrived: arrived}), do: :atomics.get(arrived, 1)

  @doc "Returns the states of all slots, for value/2."
  @spec states(t) :: tuple
  def states(%__MODULE__{states: states}), do: List.to_tuple(states(states, @count, []))

  defp states(_states, 0, acc), do: acc
  defp states(states, i, acc), do: states(states, i - 1, [:atomics.get(states, i) | acc])

  @doc "Returns the value of a slot: an id, :released, or nil where no caller has had the token."
  @spec value(tuple, slot) :: pos_integer | :released | nil
  def value(states, slot) do
    case elem(states, slot) do
      id when id > 0 -> id
      @released -> :released
      _free_or_claimed -> nil
    end
  end

  @doc "Adds the tokens that are missing to a map of tokens by slot."
  @spec collect(t, %{slot => binary}) :: %{slot => binary}
  def collect(%__MODULE__{tokens: table}, tokens) do
    if :ets.info(table, :size) == map_size(tokens),
      do: tokens,
      else: collect(table, :ets.first(table), tokens)
  end

  defp collect(_table, :"$end_of_table", tokens), do: tokens

  defp collect(table, slot, tokens) do
    # A token that is there already must not come here again: it would count twice.
    tokens = Map.put_new_lazy(tokens, slot, fn -> :ets.lookup_element(table, slot, 2) end)
    collect(table, :ets.next(table, slot), tokens)
  end

  @doc "Returns the bytes of the value of a slot."
  @spec bytes(t, slot) :: non_neg_integer
  def bytes(%__MODULE__{bytes: bytes}, slot), do: :atomics.get(bytes, slot + 1)

  @doc "Gives a slot back."
  @spec free(t, slot) :: :ok
  def free(%__MODULE__{states: states}, slot), do: :atomics.put(states, slot + 1, 0)

  @doc "Claims a slot and drops its token, if the slot is free; returns whether it was."
  @spec forget_token(t, slot) :: boolean
  def forget_token(%__MODULE__{states: states, tokens: tokens}, slot) do
    :atomics.compare_exchange(states, slot + 1, 0, @claimed) == :ok and :ets.delete(tokens, slot)
  end
end
