defmodule NxVulkanGo.Sampler.Precision do
  @moduledoc false
  # Finds parts of a density with fewer digits than its type. Nx gives a number a type of
  # its own where no tensor is beside it: Nx.log(2) is an f32, and its sum with an f64 is an
  # f64 with eight good digits.

  alias Nx.Defn.{Expr, Tree}
  alias Nx.Tensor, as: T
  alias NxVulkanGo.Check

  require Logger

  # Operations that move elements and compute none.
  @moves [
    :reshape,
    :squeeze,
    :broadcast,
    :transpose,
    :slice,
    :put_slice,
    :pad,
    :reverse,
    :concatenate,
    :stack,
    :gather,
    :take,
    :take_along_axis,
    :select,
    :as_type,
    :bitcast,
    :metadata,
    :elem,
    :cond,
    :while,
    :negate,
    :abs,
    :sort,
    :reduce_max,
    :reduce_min,
    :max,
    :min,
    :iota,
    :eye,
    :parameter,
    :constant,
    :tensor
  ]

  @doc "Warns once of a density whose precision drops below that of a type."
  @spec warn(Nx.Tensor.t(), Nx.Type.t()) :: :ok
  def warn(density, {:f, bits}) do
    case density |> nodes() |> Enum.filter(&drops?(&1, bits)) do
      [] ->
        :ok

      [first | rest] ->
        Logger.warning(
          "the log density has the type f#{bits}, but #{describe(first)}#{others(length(rest))}; " <>
            "write numbers as tensors of that type: Nx.log(Nx.tensor(2, type: :f#{bits}))#{place()}"
        )
    end
  end

  defp others(0), do: ""
  defp others(1), do: ", and so is another part"
  defp others(n), do: ", and so are #{n} other parts"

  # All nodes, each after its operands.
  defp nodes(density) do
    {list, _seen} = visit(density, {[], %{}})
    Enum.reverse(list)
  end

  defp visit(%T{data: %Expr{id: id}} = t, {list, seen}) do
    if is_map_key(seen, id) do
      {list, seen}
    else
      {_, {list, seen}} =
        Tree.apply_args(t, :all, {list, Map.put(seen, id, true)}, &{&1, visit(&1, &2)})

      {[t | list], seen}
    end
  end

  defp visit(_option, acc), do: acc

  # Nx gives a number the type of the other operand; its digits are those of its former type.
  defp drops?(%T{data: %Expr{op: :constant, args: [x]}}, wanted), do: rounded?(x, wanted)

  defp drops?(%T{shape: {}, data: %Expr{op: :tensor, args: [t]}}, wanted),
    do: t |> Nx.backend_copy(Nx.BinaryBackend) |> Nx.to_number() |> rounded?(wanted)

  # Operations that only move data drop nothing; others of a narrower type do.
  defp drops?(%T{type: {kind, bits}, data: %Expr{op: op}}, wanted)
       when kind in [:f, :bf] and bits < wanted,
       do: op not in @moves

  defp drops?(_t, _wanted), do: false

  # Whether a number has all digits of a narrower type and no others: then it has been
  # rounded to that type. 0.5 and 2 ** -30 have few digits.
  defp rounded?(x, wanted) when is_float(x),
    do:
      Enum.any?([{32, 24}, {16, 11}], fn {bits, digits} ->
        bits < wanted and full?(x, bits, digits)
      end)

  defp rounded?(_x, _wanted), do: false

  defp full?(x, bits, digits) do
    case <<x::float-size(bits)>> do
      <<^x::float-size(bits)>> -> significant(x) > digits - 8 and short(x, bits) != x
      _ -> false
    end
  rescue
    # It is larger than any of that type.
    ArgumentError -> false
  end

  # The bits between the first and the last that are set.
  defp significant(x) do
    <<_sign::1, exponent::11, fraction::52>> = <<x::float-64>>
    fraction = if exponent == 0, do: fraction, else: fraction + 2 ** 52
    length(Integer.digits(fraction, 2)) - zeros(fraction, 0)
  end

  defp zeros(0, count), do: count
  defp zeros(n, count) when rem(n, 2) == 1, do: count
  defp zeros(n, count), do: zeros(div(n, 2), count + 1)

  # The number with the fewest decimal digits that is rounded to x.
  defp short(x, bits) do
    Enum.find_value(0..16, x, fn digits ->
      {short, ""} = x |> :erlang.float_to_binary(scientific: digits) |> Float.parse()
      if <<short::float-size(bits)>> == <<x::float-size(bits)>>, do: short
    end)
  end

  defp describe(%T{data: %Expr{op: :constant, args: [x]}}), do: number(x)

  defp describe(%T{data: %Expr{op: :tensor, args: [t]}}),
    do: t |> Nx.backend_copy(Nx.BinaryBackend) |> Nx.to_number() |> number()

  defp describe(%T{type: {kind, bits}, data: %Expr{op: op}} = t) do
    of = for(%T{data: %Expr{op: :constant, args: [x]}} <- children(t), do: " of #{x}")
    "#{op}#{List.first(of)} is computed as #{kind}#{bits}"
  end

  defp number(x), do: "the number #{x} has been rounded to fewer digits"

  defp children(t), do: t |> Tree.apply_args(:scope, [], &{&1, [&1 | &2]}) |> elem(1)

  # Where the density is compiled.
  defp place do
    case Check.location() do
      nil -> ""
      location -> " (#{location})"
    end
  end
end
