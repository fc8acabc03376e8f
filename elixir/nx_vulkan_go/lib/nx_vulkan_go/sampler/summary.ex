defmodule NxVulkanGo.Sampler.Summary do
  @moduledoc """
  The diagnostics of all parameters of a result. It prints as a table.

      iex> NxVulkanGo.Sampler.Diagnostics.summary(result)
      parameter     mean     sd   mcse      5%  median    95%  bulk  tail   rhat
      mu           4.412  3.291  0.071  -1.021   4.398  9.820  2148  2301  1.001
      z[0]         0.394  0.981  0.016  -1.220   0.407  2.012  3801  2755  1.000
      4 chains of 1000 draws, 3 divergent

  `:rows` has a map for each parameter: that of `NxVulkanGo.Sampler.Diagnostics.summary/1`, and
  its `:name`. A name has the keys of maps and the positions in tuples, joined by dots, and the
  index of the element: `theta.0[2, 1]`. `:divergent` counts the trajectories that ended at a
  divergence. Where there are any, the chains may have missed parts of the distribution.
  """

  alias Nx.Defn.Composite

  @enforce_keys [:rows, :chains, :draws, :divergent]
  defstruct @enforce_keys

  @type t :: %__MODULE__{
          rows: [%{name: String.t(), mean: float, rhat: float | nil}],
          chains: pos_integer,
          draws: pos_integer,
          divergent: non_neg_integer
        }

  @doc false
  # The names of all parameters of draws, in order. The first two axes are chains and draws.
  def names(draws) do
    Enum.flat_map(paths(draws), fn {path, %Nx.Tensor{shape: shape}} ->
      [_chains, _draws | inner] = Tuple.to_list(shape)
      name = Enum.join(path, ".")
      Enum.map(indices(inner), &(name <> &1))
    end)
  end

  defp indices([]), do: [""]
  defp indices(axes), do: for(i <- places(axes), do: "[#{Enum.join(i, ", ")}]")

  defp places([]), do: [[]]
  defp places([n | rest]), do: for(i <- 0..(n - 1), tail <- places(rest), do: [i | tail])

  defp paths(%Nx.Tensor{} = t), do: [{[], t}]

  defp paths(tuple) when is_tuple(tuple) do
    tuple |> Tuple.to_list() |> Enum.with_index() |> Enum.flat_map(fn {t, i} -> under(i, t) end)
  end

  defp paths(map) when is_map(map) and not is_struct(map),
    do: map |> Enum.sort() |> Enum.flat_map(fn {key, t} -> under(key, t) end)

  # Of other containers Nx knows the order, and no names.
  defp paths(other),
    do: Composite.flatten_list([other]) |> Enum.with_index(fn tensor, i -> {[i], tensor} end)

  defp under(key, container),
    do: for({path, tensor} <- paths(container), do: {[key | path], tensor})

  @columns [
    {"mean", :mean},
    {"sd", :sd},
    {"mcse", :mcse},
    {"5%", :q05},
    {"median", :median},
    {"95%", :q95},
    {"bulk", :ess_bulk},
    {"tail", :ess_tail},
    {"rhat", :rhat}
  ]

  @doc "Formats the table, with at most `limit` rows."
  @spec to_text(t, pos_integer | :infinity) :: String.t()
  def to_text(%__MODULE__{} = summary, limit \\ :infinity) do
    rows = if limit == :infinity, do: summary.rows, else: Enum.take(summary.rows, limit)
    header = ["parameter" | Enum.map(@columns, &elem(&1, 0))]
    cells = for row <- rows, do: [name(row) | Enum.map(@columns, &cell(row, elem(&1, 1)))]

    widths =
      Enum.zip_with([header | cells], fn column ->
        column |> Enum.map(&String.length/1) |> Enum.max()
      end)

    lines = Enum.map([header | cells], &line(&1, widths))
    more = length(summary.rows) - length(rows)
    more = if more > 0, do: ["and #{more} parameters more"], else: []
    Enum.join(lines ++ more ++ [foot(summary)], "\n")
  end

  defp line([name | cells], [width | widths]) do
    [String.pad_trailing(name, width) | Enum.zip_with(cells, widths, &String.pad_leading/2)]
    |> Enum.join("  ")
  end

  # A template that is one number has no name.
  defp name(%{name: ""}), do: "q"
  defp name(%{name: name}), do: name

  defp foot(%{chains: chains, draws: draws, divergent: divergent}),
    do: "#{chains} chains of #{draws} draws, #{divergent} divergent"

  defp cell(row, key) do
    case Map.fetch!(row, key) do
      nil -> "-"
      x when not is_float(x) -> to_string(x)
      x when key in [:ess_bulk, :ess_tail] -> x |> round() |> Integer.to_string()
      x when key == :rhat -> :erlang.float_to_binary(x, decimals: 3)
      x -> number(x)
    end
  end

  # Four digits, or the exponent where they do not show.
  defp number(x) when x == 0, do: "0"

  defp number(x) do
    size = abs(x)

    cond do
      size >= 1.0e6 or size < 1.0e-4 -> :erlang.float_to_binary(x, scientific: 2)
      size >= 100 -> :erlang.float_to_binary(x, decimals: 1)
      size >= 10 -> :erlang.float_to_binary(x, decimals: 2)
      true -> :erlang.float_to_binary(x, decimals: 3)
    end
  end

  defimpl Inspect do
    # A table is not broken into lines of its own.
    def inspect(summary, %{limit: limit}) do
      summary
      |> @for.to_text(limit)
      |> String.split("\n")
      |> Enum.map(&Inspect.Algebra.string/1)
      |> Enum.intersperse(Inspect.Algebra.line())
      |> Inspect.Algebra.concat()
      |> Inspect.Algebra.force_unfit()
    end
  end

  defimpl String.Chars do
    def to_string(summary), do: @for.to_text(summary)
  end
end
