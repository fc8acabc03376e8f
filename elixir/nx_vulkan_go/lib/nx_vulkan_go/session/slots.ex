defmodule NxVulkanGo.Session.Slots do
  @moduledoc false
  # The slots of one tracker. Callers take them and the tracker gives them back, and
  # neither sends the other a message for it.
  #
  # The state of a slot, in an array of atomics, is
  #
  #     0           free
  #     @claimed    of a caller that does not have the token yet
  #     id          of that value: its caller holds the token, or has let go of it
  #     @released   of a value that was freed while somebody may hold the token
  #
  # Only callers leave 0 and only the tracker goes back there; both free values. A second
  # array says how many bytes the value has, and a counter how many values there have been.
  #
  # The token of a slot is a binary whose size no other slot has. It is made when the
  # slot is taken for the first time, and lies in a table for those who take it later.

  @count 1024
  @first_size 65
  @claimed -1
  @released -2

  # Tokens are copies of a part of it: that is quicker than repeating a byte.
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

  @doc "So many slots, all free. The table of tokens belongs to the calling process."
  @spec new :: t
  def new do
    %__MODULE__{
      states: :atomics.new(@count, signed: true),
      bytes: :atomics.new(@count, signed: true),
      arrived: :atomics.new(1, signed: true),
      tokens: :ets.new(__MODULE__, [:public, read_concurrency: true])
    }
  end

  @doc "How many slots there are."
  @spec count :: pos_integer
  def count, do: @count

  @doc "The slot of a token."
  @spec slot(binary) :: slot
  def slot(token), do: slot_of_size(byte_size(token))

  @doc "The slot whose token has so many bytes, if there is one."
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
  Gives a claimed slot to the value `id` of so many bytes: its token, and how many
  slots have been given before.
  """
  @spec give(t, slot, pos_integer, non_neg_integer) :: {binary, non_neg_integer}
  def give(%__MODULE__{states: states} = slots, slot, id, bytes) do
    token = token(slots.tokens, slot)
    # Callers may be killed anywhere: no value is without having been counted.
    before = :atomics.add_get(slots.arrived, 1, 1) - 1
    :atomics.put(slots.bytes, slot + 1, bytes)
    :atomics.put(states, slot + 1, id)
    {token, before}
  end

  defp token(tokens, slot) do
    case :ets.lookup(tokens, slot) do
      [{_, token}] ->
        token

      [] ->
        token = :binary.copy(binary_part(@longest, 0, @first_size + slot))
        :ets.insert(tokens, {slot, token})
        token
    end
  end

  @doc "Whether a slot has the value `id`, and nobody has taken it away."
  @spec holds?(t, slot, pos_integer) :: boolean
  def holds?(%__MODULE__{states: states}, slot, id), do: :atomics.get(states, slot + 1) == id

  @doc "Takes the value of a slot away, if it is that one; the slot stays taken."
  @spec release(t, slot, pos_integer) :: boolean
  def release(%__MODULE__{states: states}, slot, id),
    do: :atomics.compare_exchange(states, slot + 1, id, @released) == :ok

  ## Of the tracker

  @doc "How many slots have been given so far."
  @spec given_count(t) :: non_neg_integer
  def given_count(%__MODULE__{arrived: arrived}), do: :atomics.get(arrived, 1)

  @doc "The states of all slots, by slot: see value/2."
  @spec states(t) :: tuple
  def states(%__MODULE__{states: states}), do: List.to_tuple(states(states, @count, []))

  defp states(_states, 0, acc), do: acc
  defp states(states, i, acc), do: states(states, i - 1, [:atomics.get(states, i) | acc])

  @doc "What a slot stands for: an id, :released, or nil where no caller has had its token."
  @spec value(tuple, slot) :: pos_integer | :released | nil
  def value(states, slot) do
    case elem(states, slot) do
      id when id > 0 -> id
      @released -> :released
      _free_or_claimed -> nil
    end
  end

  @doc "Adds to a map of tokens by slot those that have been made since."
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

  @doc "The bytes of the value of a slot."
  @spec bytes(t, slot) :: non_neg_integer
  def bytes(%__MODULE__{bytes: bytes}, slot), do: :atomics.get(bytes, slot + 1)

  @doc "Gives a slot back."
  @spec free(t, slot) :: :ok
  def free(%__MODULE__{states: states}, slot), do: :atomics.put(states, slot + 1, 0)

  @doc "Claims a slot if it is free and forgets its token; whether it was so."
  @spec forget_token(t, slot) :: boolean
  def forget_token(%__MODULE__{states: states, tokens: tokens}, slot) do
    :atomics.compare_exchange(states, slot + 1, 0, @claimed) == :ok and :ets.delete(tokens, slot)
  end
end
