defmodule NxVulkanGo.Session.ProgramCache do
  @moduledoc false
  # The programs that the server has for a session. A VM may compile for ever, so there is a
  # bound: above it the least recently used quarter is dropped, here and on the server
  # (`forget`). A later run of such a program sends it again.
  #
  # The server has bounds of its own for a session, 16,384 programs of 2^20 instructions
  # (gen/README.md), and answers `unknown_program` beyond them. The bounds here are lower: an
  # instruction takes at least 32 bytes in external term format (a hook takes 25). So the server
  # never drops a program that this VM believes it has.

  defstruct known: %{}, bytes: 0, clock: 0, most: 4096, most_bytes: 16 * 1024 * 1024

  @type t :: %__MODULE__{
          # when each program was used last, and its size
          known: %{binary => {non_neg_integer, non_neg_integer}},
          bytes: non_neg_integer,
          clock: non_neg_integer,
          most: pos_integer,
          most_bytes: pos_integer
        }

  @doc "Notes a use of a program; returns the instructions that must be sent before it."
  @spec use(t, %{:key => binary, :code => binary, optional(atom) => term}) :: {t, [tuple]}
  def use(%__MODULE__{known: known, clock: clock} = programs, %{key: key} = program) do
    case known do
      %{^key => {^clock, _bytes}} -> {programs, []}
      %{^key => {_, bytes}} -> {put(programs, key, bytes), []}
      _ -> define(programs, program)
    end
  end

  # The clock ticks with each new program, so that a loop over known programs changes
  # nothing.
  defp define(programs, %{key: key, code: code} = program) do
    size = byte_size(code)
    programs = %{programs | clock: programs.clock + 1}
    {programs, forgotten} = make_room(programs, size)
    share = List.wrap(program[:share])
    program = {:program, [], [], [key, :erlang.binary_to_term(code) | share]}
    {put(%{programs | bytes: programs.bytes + size}, key, size), forget(forgotten) ++ [program]}
  end

  defp put(programs, key, bytes),
    do: %{programs | known: Map.put(programs.known, key, {programs.clock, bytes})}

  defp forget([]), do: []
  defp forget(keys), do: [{:forget, [], [], [keys]}]

  defp make_room(%{known: known} = programs, size) do
    if map_size(known) < programs.most and programs.bytes + size <= programs.most_bytes do
      {programs, []}
    else
      known
      |> Enum.sort_by(fn {_key, {at, _bytes}} -> at end)
      |> oldest(programs, div(programs.most * 3, 4), div(programs.most_bytes * 3, 4) - size, [])
    end
  end

  defp oldest([{key, {_, bytes}} | rest], %{known: known} = programs, most, most_bytes, gone)
       when map_size(known) > most or programs.bytes > most_bytes do
    programs = %{programs | known: Map.delete(known, key), bytes: programs.bytes - bytes}
    oldest(rest, programs, most, most_bytes, [key | gone])
  end

  defp oldest(_rest, programs, _most, _most_bytes, gone), do: {programs, gone}
end
