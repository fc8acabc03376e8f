defmodule NxVulkanGo.Explanation do
  @moduledoc """
  The result of `NxVulkanGo.explain/3`: the program of a function, and the parts in which
  a device carries it out. It prints as text and is a table in Livebook.
  """

  alias NxVulkanGo.Compiler.Listing
  alias NxVulkanGo.Units

  @enforce_keys [:program, :parts]
  defstruct @enforce_keys ++ [shards: nil]

  @typedoc """
  A part of a program: one instruction, or several fused ones. `why` has a line for the
  rules that fused the instructions, and a line for each reason why a reader of the
  results is in another part. `seconds` is an estimate; `measured` is `nil` without
  `profile: true`. Times are in seconds. `held` is the memory of the values that the function
  has computed and still needs while the part runs, its temporary memory included, and `params`
  that of the arguments which this part or a later one needs, both in bytes.
  """
  @type part :: %{
          block: String.t(),
          place: :device | :host | :view | :upload | :control,
          instructions: [String.t()],
          why: [String.t()],
          kernels: [
            %{name: String.t(), grid: term, bytes: integer, flops: integer, seconds: float}
          ],
          bytes: integer,
          flops: integer,
          seconds: float,
          held: integer,
          params: integer,
          measured: float | nil
        }

  @typedoc """
  How a program is divided over a mesh. A sharding has, for each dimension, the axes of the mesh that divide
  it. `collectives` are the exchanges of the devices, in order, and the operations that each device carries
  out whole. `bytes` are those that arrive at a device each time.
  """
  @type shards :: %{
          mesh: tuple,
          arguments: [[[non_neg_integer]]],
          results: [{atom, tuple, [[non_neg_integer]]}],
          collectives: [%{operation: atom, what: String.t(), bytes: non_neg_integer}]
        }

  @type t :: %__MODULE__{
          # the reason where the function cannot be compiled
          program: struct | {:unsupported, String.t()},
          parts: [part],
          # nil where the function is not divided
          shards: nil | shards
        }

  @doc "Returns a map for each part, in the order in which they run, for tables."
  @spec rows(t) :: [map]
  def rows(%__MODULE__{parts: parts}) do
    for {part, i} <- Enum.with_index(parts, 1) do
      %{
        part: i,
        block: part.block,
        place: part.place,
        operations: operations(part),
        kernels: length(part.kernels),
        bytes: part.bytes,
        flops: part.flops,
        estimated_us: microseconds(part.seconds),
        measured_us: microseconds(part.measured),
        why: Enum.join(part.why, "; ")
      }
    end
  end

  @doc """
  Formats the explanation: the instructions of the program, then a table of its parts with
  the reasons of each.
  """
  @spec text(t) :: String.t()
  def text(%__MODULE__{program: program} = explanation),
    do: Listing.format(program) <> divided(explanation.shards) <> table(explanation)

  defp divided(nil), do: ""

  defp divided(%{mesh: mesh} = shards) do
    arguments =
      for {axes, i} <- Enum.with_index(shards.arguments),
          do: "  argument #{i}: #{sharding(axes)}\n"

    results =
      for {{type, shape, axes}, i} <- Enum.with_index(shards.results) do
        "  result #{i}: #{type}#{inspect(Tuple.to_list(shape), charlists: :as_lists)}, #{sharding(axes)}\n"
      end

    collectives =
      for c <- shards.collectives,
          do: "  #{String.pad_leading(Units.bytes(c.bytes), 10)}  #{c.what} (#{c.operation})\n"

    total = shards.collectives |> Enum.map(& &1.bytes) |> Enum.sum()

    IO.iodata_to_binary([
      "\nmesh #{inspect(mesh)}\n",
      arguments,
      results,
      if(collectives == [], do: "  nothing is exchanged\n", else: []),
      collectives,
      if(collectives == [],
        do: [],
        else: "  #{String.pad_leading(Units.bytes(total), 10)}  in all\n"
      )
    ])
  end

  # dimension 0 by axis 0 of the mesh
  defp sharding(axes) do
    case for({[_ | _] = list, d} <- Enum.with_index(axes), do: "dimension #{d} by #{by(list)}") do
      [] -> "whole on each device"
      list -> Enum.join(list, ", ")
    end
  end

  defp by([axis]), do: "axis #{axis}"
  defp by(axes), do: "axes #{Enum.join(axes, ", ")}"

  defp table(%{parts: []}), do: ""

  defp table(%{parts: parts} = explanation) do
    measured = Enum.any?(parts, & &1.measured)

    head =
      ["part", "place", "kernels", "bytes", "estimated"] ++
        if(measured, do: ["measured"], else: [])

    rows = Enum.map(rows(explanation), &cells(&1, measured)) ++ [total(parts, measured)]
    widths = for column <- Enum.zip([head | rows]), do: widest(Tuple.to_list(column))
    what = Enum.map(rows(explanation), &what/1) ++ [""]
    why = [[] | Enum.map(parts, & &1.why)] ++ [[]]
    below = String.duplicate(" ", Enum.sum(widths) + 2 * length(widths) + 2)

    lines =
      for {row, what, why} <- Enum.zip([[head | rows], ["operations" | what], why]) do
        padded = Enum.zip_with(row, widths, &String.pad_leading/2)
        [line(Enum.join(padded ++ [what], "  ")) | for(reason <- why, do: line(below <> reason))]
      end

    IO.iodata_to_binary(["\n" | lines])
  end

  defp line(text), do: [String.trim_trailing(text), "\n"]

  defp cells(row, measured) do
    [
      "#{row.part}",
      "#{row.place}",
      "#{row.kernels}",
      Units.bytes(row.bytes),
      time(row.estimated_us)
    ] ++ if(measured, do: [time(row.measured_us)], else: [])
  end

  defp total(parts, measured) do
    sum = fn key -> parts |> Enum.map(&(Map.get(&1, key) || 0)) |> Enum.sum() end
    kernels = parts |> Enum.map(&length(&1.kernels)) |> Enum.sum()
    times = [:seconds | if(measured, do: [:measured], else: [])]

    ["all", "", "#{kernels}", Units.bytes(sum.(:bytes))] ++
      for(t <- times, do: time(microseconds(sum.(t))))
  end

  defp widest(cells), do: cells |> Enum.map(&String.length/1) |> Enum.max()

  # Operations of a loop or a branch are preceded by its name.
  defp what(%{block: ""} = row), do: row.operations
  defp what(row), do: "#{row.block}: #{row.operations}"

  # Operations in order; those that follow each other once, with their number.
  defp operations(%{instructions: lines}) do
    lines
    |> Enum.map(&operation/1)
    |> Enum.chunk_by(& &1)
    |> Enum.map_join(", ", fn
      [op] -> op
      [op | _] = ops -> "#{length(ops)} #{op}"
    end)
  end

  # A line is RESULTS = OPERATION OPERANDS, or has no results.
  defp operation(line) do
    line |> String.split(" = ", parts: 2) |> List.last() |> String.split(" ", parts: 2) |> hd()
  end

  defp microseconds(nil), do: nil
  defp microseconds(seconds), do: Float.round(seconds * 1.0e6, 2)

  defp time(nil), do: "-"
  defp time(us) when us >= 1000, do: "#{Float.round(us / 1000, 2)} ms"
  defp time(us), do: "#{us} us"

  defimpl String.Chars do
    defdelegate to_string(explanation), to: NxVulkanGo.Explanation, as: :text
  end

  defimpl Inspect do
    def inspect(explanation, _opts),
      do: "#NxVulkanGo.Explanation<\n" <> NxVulkanGo.Explanation.text(explanation) <> ">"
  end
end
