# Prints what Nx.BinaryBackend computes, one JSON object a line:
#
#     elixir -pa PATH_TO_NX_EBIN -pa PATH_TO_COMPLEX_EBIN goldens.exs > goldens.jsonl
#
# Values are [type, dimensions, hex of the elements]; types of less than a byte
# take a byte an element. Attributes are integers, as ops.Instr has them.
defmodule Goldens do
  def value(%Nx.Tensor{} = t) do
    {kind, bits} = t.type
    data = Nx.to_binary(t)

    data =
      cond do
        bits >= 8 -> data
        kind == :s -> for <<x::size(bits)-signed <- data>>, into: "", do: <<x::8>>
        true -> for <<x::size(bits) <- data>>, into: "", do: <<x::8>>
      end

    [Nx.Type.to_string(t.type), Tuple.to_list(t.shape), Base.encode16(data, case: :lower)]
  end

  def emit(op, attrs, args, fun) do
    try do
      out = List.wrap(apply(fun, args) |> then(&if(is_tuple(&1) and not is_struct(&1), do: Tuple.to_list(&1), else: &1)))
      line = %{op: op, attrs: attrs, args: Enum.map(args, &value/1), outs: Enum.map(out, &value/1)}
      IO.puts(JSON.encode!(line))
    rescue
      e -> IO.puts(:stderr, "#{op} #{inspect(Enum.map(args, & &1.type))}: #{Exception.message(e) |> String.slice(0, 80)}")
    end
  end

  def pattern(n, scale, shift), do: for(i <- 1..n, do: (rem(i * 37, 101) - 50) * scale / 50 + shift)

  def floats(list, type), do: Nx.tensor(list, type: type)
  def ints(list, type), do: Nx.tensor(list, type: type)

  # All complex numbers with parts of these.
  def parts(list, type), do: Nx.tensor(for(re <- list, im <- list, do: Complex.new(re, im)), type: type)

  def tensor(shape, type, seed \\ 1) do
    n = Tuple.product(shape)
    xs = for i <- 1..n, do: rem(i * 7919 + seed * 104_729, 23) - if(match?({:u, _}, type), do: 0, else: 11)
    float? = not match?({k, _} when k in [:s, :u], type)
    xs = if float?, do: Enum.map(xs, &(&1 / 4)), else: xs
    t = Nx.tensor(xs, type: type)
    t = if match?({:c, _}, type), do: Nx.add(t, Nx.multiply(Nx.Constants.i(type), Nx.reverse(t))), else: t
    Nx.reshape(t, shape)
  end
end

defmodule Goldens.Cases do
  import Goldens

  @non_finite [:nan, :infinity, :neg_infinity, 0.0, 1.5, -2.5]

  def unary_functions do
    unit = pattern(16, 0.95, 0.0)
    wide = pattern(16, 8.0, 0.25)
    positive = Enum.map(wide, &(abs(&1) + 0.01))

    for {ops, list} <- [
          {[:exp, :expm1, :sigmoid, :cos, :sin, :tan, :cosh, :sinh, :tanh, :atan, :asinh, :cbrt, :erf, :erfc], wide},
          {[:acos, :asin, :atanh, :erf_inv], unit},
          {[:log, :log1p, :sqrt, :rsqrt], positive},
          {[:acosh], Enum.map(positive, &(&1 + 1))}
        ],
        op <- ops,
        type <- [{:f, 32}, {:f, 64}] do
      emit(op, [], [floats(list, type)], &apply(Nx, op, [&1]))
    end

    for op <- [:exp, :expm1, :sigmoid, :cos, :sin, :tan, :cosh, :sinh, :tanh, :acos, :asin, :atan, :acosh, :asinh, :atanh] ++
                [:log, :log1p, :sqrt, :rsqrt, :cbrt, :abs, :conjugate, :negate, :real, :imag, :is_nan, :is_infinity],
        type <- [{:c, 64}, {:c, 128}] do
      emit(op, [], [tensor({12}, type)], &apply(Nx, op, [&1]))
    end

    for op <- [:tan, :tanh, :acos, :asin, :atan, :acosh, :asinh, :atanh, :rsqrt], type <- [{:c, 64}, {:c, 128}] do
      emit(op, [], [parts(@non_finite, type)], &apply(Nx, op, [&1]))
    end

    for op <- [:abs, :ceil, :floor, :negate, :round, :sign],
        type <- [{:f, 32}, {:f, 64}, {:f, 16}, {:s, 32}, {:s, 8}, {:u, 8}] do
      emit(op, [], [tensor({20}, type)], &apply(Nx, op, [&1]))
    end

    for op <- [:bitwise_not, :count_leading_zeros, :population_count], type <- [{:s, 8}, {:u, 8}, {:s, 16}, {:s, 32}, {:u, 64}, {:s, 64}] do
      emit(op, [], [tensor({20}, type)], &apply(Nx, op, [&1]))
    end

    for op <- [:is_nan, :is_infinity, :logical_not], type <- [{:f, 16}, {:f, 32}, {:f, 64}, {:f, 8}] do
      emit(op, [], [floats(@non_finite, type)], &apply(Nx, op, [&1]))
    end
  end

  def binary_functions do
    types = [{:f, 32}, {:f, 64}, {:s, 32}, {:s, 64}, {:u, 8}, {:s, 8}, {:u, 64}, {:s, 4}, {:u, 2}, {:f, 16}]

    for op <- [:add, :subtract, :multiply, :min, :max, :equal, :not_equal, :greater, :less, :greater_equal, :less_equal] ++
                [:logical_and, :logical_or, :logical_xor],
        l <- types,
        r <- Enum.uniq([l, {:f, 32}, {:s, 64}, {:u, 8}]) do
      a = if match?({_, n} when n < 8, l), do: ints([0, 1, 1, 0, 1], l), else: tensor({5}, l)
      b = if match?({_, n} when n < 8, r), do: ints([1, 1, 0, 0, 1], r), else: tensor({5}, r, 2)
      emit(op, [], [a, b], &apply(Nx, op, [&1, &2]))
    end

    for op <- [:add, :subtract, :multiply, :min, :max, :equal, :not_equal, :greater, :less, :greater_equal, :less_equal],
        type <- [{:f, 32}, {:f, 64}, {:f, 16}] do
      a = floats(@non_finite, type)
      emit(op, [], [Nx.new_axis(a, 1), a], &apply(Nx, op, [&1, &2]))
    end

    for op <- [:add, :subtract, :multiply, :divide, :pow, :equal, :not_equal], r <- [{:c, 64}, {:c, 128}, {:f, 32}] do
      emit(op, [], [tensor({6}, {:c, 64}), Nx.add(tensor({6}, r, 3), 0.125)], &apply(Nx, op, [&1, &2]))
    end

    for op <- [:divide, :remainder, :atan2], type <- [{:f, 32}, {:f, 64}] do
      emit(op, [], [tensor({3, 1, 4}, type), Nx.add(tensor({2, 1}, type, 5), 0.125)], &apply(Nx, op, [&1, &2]))
    end

    for op <- [:divide, :remainder, :quotient], type <- [{:s, 32}, {:s, 64}, {:u, 8}] do
      emit(op, [], [tensor({8}, type), ints([1, 2, 3, 4, 5, 6, 7, 3], type)], &apply(Nx, op, [&1, &2]))
    end

    for type <- [{:s, 32}, {:s, 8}, {:u, 8}, {:s, 64}], do: emit(:pow, [], [tensor({8}, type), ints([0, 1, 2, 3, 4, 5, 60, 7], type)], &Nx.pow/2)
    for type <- [{:f, 32}, {:f, 64}], do: emit(:pow, [], [floats(Enum.map(pattern(16, 8.0, 0.25), &(abs(&1) + 0.01)), type), floats(pattern(16, 8.0, 0.25), type)], &Nx.pow/2)

    for op <- [:bitwise_and, :bitwise_or, :bitwise_xor], type <- [{:s, 32}, {:s, 8}, {:u, 8}, {:s, 64}] do
      emit(op, [], [tensor({8}, type), tensor({2, 8}, type, 2)], &apply(Nx, op, [&1, &2]))
    end

    for op <- [:left_shift, :right_shift], type <- [{:s, 32}, {:s, 8}, {:u, 8}, {:s, 64}] do
      emit(op, [], [tensor({8}, type), ints([0, 1, 2, 3, 7, 8, 9, 31], type)], &apply(Nx, op, [&1, &2]))
    end
  end

  def conversion_select_clip do
    all = [{:u, 2}, {:u, 4}, {:u, 8}, {:u, 16}, {:u, 32}, {:u, 64}, {:s, 2}, {:s, 4}, {:s, 8}, {:s, 16}, {:s, 32}, {:s, 64}] ++
            [{:f, 16}, {:f, 32}, {:f, 64}, {:c, 64}, {:c, 128}]

    for from <- all, to <- all, from != to do
      t = if match?({_, n} when n < 8, from), do: ints([0, 1, 1, 0], from), else: tensor({12}, from)
      emit(:as_type, [], [t], &Nx.as_type(&1, to))
    end

    for from <- [{:f, 32}, {:f, 64}], to <- [{:s, 8}, {:u, 8}, {:s, 32}, {:u, 64}, {:f, 16}, {:bf, 16}, {:f8_e4m3fn, 8}] do
      emit(:as_type, [], [floats(@non_finite, from)], &Nx.as_type(&1, to))
    end

    emit(:select, [], [ints([1, 0, 2], {:u, 8}), tensor({3}, {:s, 32}), tensor({2, 3}, {:f, 32})], fn p, a, b -> Nx.select(Nx.broadcast(p, {2, 3}), a, b) end)
    emit(:clip, [], [tensor({9}, {:f, 32}), Nx.tensor(-1), Nx.tensor(1.5)], &Nx.clip/3)
    emit(:clip, [], [tensor({9}, {:s, 32}), Nx.tensor(-3), Nx.tensor(4)], &Nx.clip/3)
  end

  def rounding do
    spread = for i <- 1..240, do: (rem(i * 7919, 4093) - 2046) / 1000 * :math.pow(2, rem(i, 26) - 13)
    ties = for i <- 0..31, k <- [-8, -7, -6, -3, 0, 5], do: (1 + i / 32) * :math.pow(2, k)

    for from <- [{:f, 32}, {:f, 64}], to <- [{:bf, 16}, {:f, 16}, {:f, 8}, {:f8_e4m3fn, 8}] do
      emit(:as_type, [], [floats(spread ++ ties, from)], &Nx.as_type(&1, to))
    end

    for op <- [:add, :multiply, :subtract, :divide, :atan2], type <- [{:bf, 16}, {:f, 8}, {:f8_e4m3fn, 8}] do
      # Nx misreads what it writes for subnormal numbers of f8.
      a = floats(for(x <- Enum.take_every(spread, 5), x = x / 64, abs(x) > 0.01, do: x), type)
      emit(op, [], [a, Nx.add(Nx.reverse(a), 0.125)], &apply(Nx, op, [&1, &2]))
    end

    for op <- [:min, :max], type <- [{:f, 32}, {:f, 64}] do
      zeros = floats([0.0, -0.0, 1.0], type)
      emit(op, [], [Nx.new_axis(zeros, 1), zeros], &apply(Nx, op, [&1, &2]))
    end
  end

  def reductions do
    for op <- [:sum, :product, :reduce_max, :reduce_min, :all, :any],
        type <- [{:f, 32}, {:f, 64}, {:s, 32}, {:u, 8}, {:s, 8}, {:u, 64}, {:f, 16}],
        axes <- [[0], [1], [2], [0, 2], [0, 1, 2]] do
      emit(op, [axes, [0]], [tensor({2, 3, 4}, type)], &apply(Nx, op, [&1, [axes: axes]]))
    end

    for op <- [:sum, :product], do: emit(op, [[1], [1]], [tensor({2, 3}, {:c, 64})], &apply(Nx, op, [&1, [axes: [1], keep_axes: true]]))
    for op <- [:reduce_max, :reduce_min], do: emit(op, [[0], [0]], [floats(@non_finite, {:f, 32})], &apply(Nx, op, [&1, [axes: [0]]]))

    for op <- [:argmax, :argmin], {tie, t} <- [low: 0, high: 1], axis <- [0, 1, -1], type <- [{:f, 32}, {:s, 8}, {:u, 8}] do
      opts = if axis < 0, do: [], else: [axis: axis]
      emit(op, [[axis], [0], [t]], [Nx.remainder(tensor({5, 6}, type), 3)], &apply(Nx, op, [&1, [tie_break: tie] ++ opts]))
    end

    for op <- [:argmax, :argmin], {tie, t} <- [low: 0, high: 1] do
      emit(op, [[0], [0], [t]], [floats([1.0, :nan, 3.0, :nan, :infinity, :neg_infinity], {:f, 32})], &apply(Nx, op, [&1, [tie_break: tie, axis: 0]]))
    end
  end

  def shapes_and_dot do
    pad = [{1, 2, 1}, {-1, 1, 0}]
    emit(:pad, [Enum.flat_map(pad, &Tuple.to_list/1)], [tensor({3, 4}, {:f, 32}), Nx.tensor(7.0)], &Nx.pad(&1, &2, pad))
    emit(:reverse, [[0, 2]], [tensor({2, 3, 4}, {:s, 16})], &Nx.reverse(&1, axes: [0, 2]))
    emit(:transpose, [[2, 0, 1]], [tensor({2, 3, 4}, {:s, 16})], &Nx.transpose(&1, axes: [2, 0, 1]))
    emit(:slice, [[1, 0], [3, 4], [2, 3]], [tensor({5, 6}, {:f, 64})], &Nx.slice(&1, [1, 0], [3, 4], strides: [2, 3]))
    emit(:put_slice, [[4, 1]], [tensor({5, 6}, {:f, 32}), tensor({2, 3}, {:s, 8})], &Nx.put_slice(&1, [4, 1], &2))

    for l <- [{:f, 32}, {:f, 64}, {:s, 32}, {:u, 8}, {:c, 64}], r <- [{:f, 32}, {:s, 32}] do
      emit(:dot, [[2], [], [0], []], [tensor({2, 3, 4}, l), tensor({4, 5}, r)], &Nx.dot(&1, [2], &2, [0]))
      emit(:dot, [[1], [0], [2], [0]], [tensor({2, 3, 4}, l), tensor({2, 5, 3}, r)], &Nx.dot(&1, [1], [0], &2, [2], [0]))
    end
  end

  def indices do
    idx = Nx.tensor([[0, 2], [1, 1], [0, 2]])
    emit(:gather, [[0, 1]], [tensor({2, 3, 4}, {:f, 32}), idx], &Nx.gather(&1, &2, axes: [0, 1]))
    emit(:gather, [[0, 2]], [tensor({2, 3, 4}, {:s, 8}), idx], &Nx.gather(&1, &2, axes: [0, 2]))
    emit(:gather, [[0]], [tensor({4}, {:f, 64}), Nx.tensor([[3], [0]])], &Nx.gather(&1, &2))

    for axis <- 0..2 do
      emit(:take, [[axis]], [tensor({2, 3, 4}, {:f, 32}), Nx.tensor([[1, 0], [0, 1]])], &Nx.take(&1, &2, axis: axis))
    end

    emit(:take_along_axis, [[1]], [tensor({2, 3}, {:f, 32}), Nx.tensor([[0, 2, 1, 1], [2, 2, 0, 0]])], &Nx.take_along_axis(&1, &2, axis: 1))
    emit(:take_along_axis, [[0]], [tensor({2, 3}, {:f, 32}), Nx.tensor([[0, 1, 1]])], &Nx.take_along_axis(&1, &2, axis: 0))

    for op <- [:indexed_add, :indexed_put], {l, r} <- [{{:f, 32}, {:f, 32}}, {{:s, 32}, {:f, 32}}, {{:u, 8}, {:u, 8}}] do
      emit(op, [[0, 1]], [tensor({2, 3, 2}, l), idx, tensor({3, 2}, r)], &apply(Nx, op, [&1, &2, &3, [axes: [0, 1]]]))
      emit(op, [[0, 2]], [tensor({2, 2, 3}, l), idx, tensor({3, 2}, r)], &apply(Nx, op, [&1, &2, &3, [axes: [0, 2]]]))
    end
  end

  def order_and_scans do
    for {dir, d} <- [asc: 0, desc: 1], axis <- [0, 1], type <- [{:f, 32}, {:s, 8}, {:u, 8}] do
      t = Nx.remainder(tensor({5, 6}, type), 4)
      emit(:sort, [[axis], [d], [1]], [t], &Nx.sort(&1, axis: axis, direction: dir, stable: true))
      emit(:argsort, [[axis], [d], [1]], [t], &Nx.argsort(&1, axis: axis, direction: dir, stable: true))
    end

    for {dir, d} <- [asc: 0, desc: 1] do
      t = floats([1.0, :nan, -1.0, :infinity, :neg_infinity, 0.0, 1.0], {:f, 32})
      emit(:sort, [[0], [d], [1]], [t], &Nx.sort(&1, direction: dir, stable: true))
    end

    emit(:top_k, [[3]], [tensor({2, 7}, {:f, 32})], &Nx.top_k(&1, k: 3))

    for op <- [:cumulative_sum, :cumulative_product, :cumulative_min, :cumulative_max], axis <- [0, 1], {rev, r} <- [{false, 0}, {true, 1}], type <- [{:f, 64}, {:s, 8}] do
      emit(op, [[axis], [r]], [tensor({3, 4}, type)], &apply(Nx, op, [&1, [axis: axis, reverse: rev]]))
    end
  end

  def windows do
    for op <- [:window_sum, :window_product, :window_max, :window_min], type <- [{:f, 32}, {:s, 8}, {:u, 8}] do
      emit(op, [[2, 3], [0, 1, 1, 0], [1, 2], [2, 1]], [tensor({5, 6}, type)], &apply(Nx, op, [&1, {2, 3}, [padding: [{0, 1}, {1, 0}], strides: [1, 2], window_dilations: [2, 1]]]))
      emit(op, [[2, 2], [0, 0, 0, 0], [2, 2], [1, 1]], [tensor({4, 6}, type)], &apply(Nx, op, [&1, {2, 2}, [strides: [2, 2]]]))
    end

    for op <- [:window_scatter_max, :window_scatter_min] do
      t = Nx.remainder(tensor({4, 6}, {:s, 32}), 3)
      emit(op, [[2, 3], [0, 0, 0, 0], [2, 3]], [t, tensor({2, 2}, {:s, 32}), Nx.tensor(0)], &apply(Nx, op, [&1, &2, &3, {2, 3}, [strides: [2, 3], padding: :valid]]))
      emit(op, [[2, 2], [0, 1, 1, 0], [1, 2]], [t, tensor({4, 3}, {:s, 32}), Nx.tensor(0)], &apply(Nx, op, [&1, &2, &3, {2, 2}, [strides: [1, 2], padding: [{0, 1}, {1, 0}]]]))
    end
  end

  def convolution do
    conv = fn t, k, o ->
      o = Keyword.merge([strides: [1, 1], padding: [{0, 0}, {0, 0}], input_dilation: [1, 1], kernel_dilation: [1, 1], feature_group_size: 1, batch_group_size: 1,
            input_permutation: [0, 1, 2, 3], kernel_permutation: [0, 1, 2, 3], output_permutation: [0, 1, 2, 3]], o)

      attrs = [o[:strides], Enum.flat_map(o[:padding], &Tuple.to_list/1), o[:input_dilation], o[:kernel_dilation], [o[:feature_group_size]], [o[:batch_group_size]],
               o[:input_permutation], o[:kernel_permutation], o[:output_permutation]]

      emit(:conv, attrs, [t, k], &Nx.conv(&1, &2, o))
    end

    conv.(tensor({2, 3, 5, 6}, {:f, 32}), tensor({4, 3, 2, 3}, {:f, 32}), [])
    conv.(tensor({2, 3, 5, 6}, {:f, 64}), tensor({4, 3, 2, 3}, {:f, 64}), strides: [2, 1], padding: [{1, 0}, {2, 1}])
    conv.(tensor({1, 2, 4, 4}, {:f, 32}), tensor({2, 2, 2, 2}, {:f, 32}), input_dilation: [2, 1], kernel_dilation: [1, 2], padding: [{0, 1}, {-1, 2}])
    conv.(tensor({2, 4, 3, 3}, {:f, 32}), tensor({6, 2, 2, 2}, {:f, 32}), feature_group_size: 2)
    conv.(tensor({4, 2, 3, 3}, {:f, 32}), tensor({6, 2, 2, 2}, {:f, 32}), batch_group_size: 2)
    conv.(tensor({2, 5, 6, 3}, {:f, 32}), tensor({2, 3, 3, 4}, {:f, 32}), input_permutation: [0, 3, 1, 2], kernel_permutation: [3, 2, 0, 1], output_permutation: [0, 3, 1, 2])
    conv.(tensor({5, 3, 2, 6}, {:f, 32}), tensor({4, 2, 3, 3}, {:f, 32}), input_permutation: [2, 1, 3, 0], kernel_permutation: [0, 2, 1, 3], output_permutation: [1, 2, 3, 0])
    conv.(tensor({1, 2, 4, 4}, {:c, 64}), tensor({2, 2, 2, 2}, {:f, 32}), [])
  end

  def transforms_and_linear_algebra do
    eps = :binary.decode_unsigned(<<1.0e-6::float-64>>)

    for op <- [:fft, :ifft], type <- [{:f, 32}, {:c, 64}, {:f, 64}, {:s, 32}], {axis, n} <- [{1, 8}, {1, 5}, {1, 3}, {0, 6}] do
      emit(op, [[n], [axis], [eps]], [tensor({6, 5}, type)], &apply(Nx, op, [&1, [axis: axis, length: n, eps: 1.0e-6]]))
    end

    for op <- [:fft2, :ifft2], do: emit(op, [[4, 6], [0, 1], [eps]], [tensor({3, 5}, {:f, 64})], &apply(Nx, op, [&1, [axes: [0, 1], lengths: [4, 6], eps: 1.0e-6]]))
    emit(:rfft, [[6], [1], [eps]], [tensor({2, 5}, {:f, 64})], &Nx.rfft(&1, length: 6, axis: 1, eps: 1.0e-6))
    emit(:irfft, [[6], [1], [eps]], [tensor({2, 4}, {:c, 128})], &Nx.irfft(&1, length: 6, axis: 1, eps: 1.0e-6))

    for type <- [{:f, 64}, {:c, 128}], {lower, l} <- [{true, 1}, {false, 0}], {left, s} <- [{true, 1}, {false, 0}], {tr, n} <- [none: 0, transpose: 1, conjugate: 2] do
      a = Nx.add(tensor({2, 3, 3}, type), Nx.multiply(Nx.eye(3, type: type), 8))
      a = if lower, do: Nx.tril(a), else: Nx.triu(a)
      emit(:triangular_solve, [[l], [s], [n]], [a, tensor({2, 3, 3}, type, 2)], &Nx.LinAlg.triangular_solve(&1, &2, lower: lower, left_side: left, transform_a: tr))
      emit(:triangular_solve, [[l], [s], [n]], [a[0], tensor({3}, type, 2)], &Nx.LinAlg.triangular_solve(&1, &2, lower: lower, left_side: left, transform_a: tr))
    end

    emit(:phase, [], [tensor({6}, {:c, 64})], &Nx.phase/1)
  end
end

Application.ensure_all_started(:nx)

for part <- [:unary_functions, :binary_functions, :conversion_select_clip, :rounding, :reductions, :shapes_and_dot, :indices, :order_and_scans, :windows, :convolution, :transforms_and_linear_algebra], do: apply(Goldens.Cases, part, [])
