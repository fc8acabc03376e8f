defmodule NxVulkanGo.Graphs do
  @moduledoc false
  # Random functions of two tensors: pointwise operations, views, reductions,
  # products, sorts, loops and branches. They are of integers, which wrap, so that
  # every way to compute them gives the same bits.

  import Nx.Defn

  @shape {3, 4}

  @doc "The shape of the arguments and of the result."
  def shape, do: @shape

  @doc "A function; the same seed gives the same one."
  def function(seed, size) do
    :rand.seed(:exsss, {seed, size, 17})

    steps =
      for _ <- 1..size, do: {Enum.random(steps()), for(_ <- 1..3, do: :rand.uniform(1_000_000))}

    fn x, y ->
      steps
      |> Enum.reduce([x, y], fn {step, picks}, pool -> [step(step, args(pool, picks)) | pool] end)
      |> Enum.take(3)
      |> List.to_tuple()
    end
  end

  defp args(pool, picks), do: for(p <- picks, do: Enum.at(pool, rem(p, length(pool))))

  defp steps do
    [:add, :subtract, :multiply, :min, :max, :bitwise_and, :bitwise_xor, :less, :equal] ++
      [:negate, :abs, :sign, :bitwise_not, :select, :clip, :scalar, :iota, :narrow] ++
      [:transpose, :reverse, :reshape, :pad, :slice, :row, :concatenate, :put_slice] ++
      [:sum, :reduce_max, :argmin, :mean_like, :dot, :outer, :cumulative, :sort, :take, :gather] ++
      [:loop, :branch, :branches, :shared_branch, :fold]
  end

  @binary [:add, :subtract, :multiply, :min, :max, :bitwise_and, :bitwise_xor]
  @unary [:negate, :abs, :sign, :bitwise_not]

  defp step(op, [a, b, _]) when op in @binary, do: apply(Nx, op, [a, b])
  defp step(op, [a, b, _]) when op in [:less, :equal], do: Nx.as_type(apply(Nx, op, [a, b]), :s32)
  defp step(op, [a, _, _]) when op in @unary, do: apply(Nx, op, [a])
  defp step(:select, [a, b, c]), do: Nx.select(Nx.greater(a, 0), b, c)
  defp step(:clip, [a, _, _]), do: Nx.clip(a, -7, 9)
  defp step(:scalar, [a, _, _]), do: Nx.add(Nx.multiply(a, 3), 1)
  defp step(:iota, [a, _, _]), do: Nx.add(a, Nx.iota(@shape, axis: 1, type: :s32))
  defp step(:narrow, [a, _, _]), do: a |> Nx.as_type(:s8) |> Nx.as_type(:s32)

  ## Views

  defp step(:transpose, [a, _, _]), do: a |> Nx.transpose() |> Nx.reshape(@shape)
  defp step(:reverse, [a, _, _]), do: Nx.reverse(a, axes: [1])

  defp step(:reshape, [a, b, _]),
    do: Nx.add(Nx.reshape(a, {2, 6}), Nx.reshape(b, {2, 6})) |> Nx.reshape(@shape)

  defp step(:pad, [a, _, _]), do: Nx.pad(a, 5, [{1, -1, 0}, {-1, 1, 0}])

  defp step(:slice, [a, _, _]),
    do: a |> Nx.slice([1, 0], [2, 2]) |> Nx.tile([2, 2]) |> Nx.slice([0, 0], [3, 4])

  defp step(:row, [a, b, _]), do: Nx.add(b, a[Nx.remainder(Nx.abs(b[0][0]), 3)])
  defp step(:concatenate, [a, b, _]), do: Nx.concatenate([a[0..0], b[1..2]])

  defp step(:put_slice, [a, b, _]),
    do: Nx.put_slice(a, [Nx.remainder(Nx.abs(b[2][3]), 2), 1], b[[0..1, 1..2]])

  ## Across elements

  defp step(:sum, [a, b, _]), do: Nx.add(b, Nx.sum(a, axes: [1], keep_axes: true))
  defp step(:reduce_max, [a, b, _]), do: Nx.subtract(b, Nx.reduce_max(a, axes: [0]))
  defp step(:argmin, [a, b, _]), do: Nx.multiply(b, Nx.argmin(a, axis: 1, keep_axis: true))
  defp step(:mean_like, [a, _, _]), do: Nx.subtract(a, Nx.quotient(Nx.sum(a), 12))
  defp step(:dot, [a, b, c]), do: Nx.dot(Nx.dot(a, Nx.transpose(b)), c)
  defp step(:outer, [a, b, _]), do: Nx.outer(a[[.., 0]], b[0])
  defp step(:cumulative, [a, _, _]), do: Nx.cumulative_sum(a, axis: 1)
  defp step(:sort, [a, _, _]), do: Nx.sort(a, axis: 0)
  defp step(:take, [a, b, _]), do: Nx.take(a, Nx.remainder(Nx.abs(b[[.., 1]]), 3), axis: 0)

  defp step(:gather, [a, b, _]) do
    Nx.take_along_axis(a, Nx.remainder(Nx.abs(b), 4), axis: 1)
  end

  defp step(:fold, [a, b, _]) do
    folded = Nx.reduce(a, 1, [axes: [0]], fn x, acc -> Nx.subtract(Nx.multiply(acc, 3), x) end)
    Nx.bitwise_xor(b, folded)
  end

  ## Control flow

  defp step(:loop, [a, b, _]), do: loop(a, b)
  defp step(:branch, [a, b, c]), do: branch(a, b, c)
  defp step(:branches, [a, b, c]), do: branches(a, b, c)
  defp step(:shared_branch, [a, b, c]), do: shared_branch(a, b, c)

  defnp loop(a, b) do
    {x, y, _} =
      while {a, b, n = Nx.remainder(Nx.abs(a[1][1]), 4)}, n > 0 do
        {a * 2 + b, b - 1, n - 1}
      end

    Nx.bitwise_xor(x, y)
  end

  defnp branch(a, b, c) do
    if Nx.sum(a) > 0, do: b + Nx.sort(c), else: -b
  end

  defnp branches(a, b, c) do
    cond do
      Nx.sum(a) > 0 -> b + 1
      Nx.sum(b) > 0 -> c * 2
      true -> Nx.cumulative_sum(c)
    end
  end

  defnp shared_branch(a, b, c) do
    shared = b * c
    one = if Nx.sum(a) > 0, do: shared + 1, else: -a
    if Nx.sum(b) > 0, do: shared - one, else: loop(c, shared)
  end
end
