defmodule NxVulkanGo.Backend.OracleTest do
  # Operations, types and shapes against Nx.BinaryBackend, on random operands.
  use ExUnit.Case, async: false

  import NxVulkanGo.Oracle

  setup do
    {a, b, c} = {ExUnit.configuration()[:seed], 1, 2}
    :rand.seed(:exsss, {a, b, c})
    :ok
  end

  @pairs [
    {{}, {}},
    {{3}, {}},
    {{}, {4}},
    {{2, 3}, {2, 3}},
    {{2, 1}, {1, 3}},
    {{257}, {257}},
    {{2, 3, 4}, {4}}
  ]
  @shapes [{}, {1}, {5}, {2, 3}, {257}, {2, 1, 3, 2}]

  arithmetic = [:add, :subtract, :multiply, :min, :max]
  compare = [:equal, :not_equal, :greater, :less, :greater_equal, :less_equal]
  logical = [:logical_and, :logical_or, :logical_xor]
  bitwise = [:bitwise_and, :bitwise_or, :bitwise_xor, :quotient]

  for op <- arithmetic ++ compare ++ logical do
    test "#{op} of all types and shapes" do
      for type <- types(), {left, right} <- @pairs do
        tensors = [random(type, left), random(type, right)]
        same!(unquote(op), tensors, fn l, r -> Nx.unquote(op)(l, r) end)
      end
    end
  end

  test "binary operations of two types" do
    for op <- unquote(arithmetic ++ compare), _ <- 1..20 do
      [left, right] = Enum.take_random(types(), 2)
      tensors = [random(left, {2, 3}, :small), random(right, {3}, :small)]
      same!(op, tensors, fn l, r -> apply(Nx, op, [l, r]) end)
    end
  end

  for op <- bitwise do
    test "#{op} of integers" do
      for type <- integers(), {left, right} <- @pairs do
        tensors = [random(type, left), random(type, right)]
        same!(unquote(op), tensors, fn l, r -> Nx.unquote(op)(l, r) end)
      end
    end
  end

  for op <- [:divide, :atan2, :remainder, :pow] do
    test "#{op}" do
      for type <- types(), {left, right} <- @pairs do
        tensors = [random(type, left, :positive), random(type, right, :small)]
        same!(unquote(op), tensors, fn l, r -> Nx.unquote(op)(l, r) end, 64)
      end
    end
  end

  test "shifts" do
    for {_, bits} = type <- integers(), op <- [:left_shift, :right_shift] do
      amounts = for _ <- 1..6, do: :rand.uniform(bits) - 1
      amounts = Nx.tensor(amounts, type: {:u, max(bits, 4)}, backend: Nx.BinaryBackend)
      shift = fn l, r -> apply(Nx, op, [l, Nx.as_type(r, type)]) end
      same!(op, [random(type, {6}), amounts], shift)
    end
  end

  domains = %{
    # Nx.BinaryBackend loses digits of expm1 near 0.
    expm1: :above_one,
    log: :positive,
    log1p: :positive,
    sqrt: :positive,
    rsqrt: :positive,
    acosh: :above_one,
    acos: :unit,
    asin: :unit,
    atanh: :unit
  }

  # erf_inv of Nx.BinaryBackend has seven digits, so it is no oracle.
  for {op, _} <- Nx.Shared.unary_math_funs(), op != :erf_inv do
    test "#{op} of floats" do
      for type <- floats(), shape <- @shapes do
        tensors = [random(type, shape, unquote(domains[op] || :any))]
        same!(unquote(op), tensors, fn t -> Nx.unquote(op)(t) end, 16)
      end
    end
  end

  for op <- [:abs, :ceil, :floor, :negate, :round, :sign, :is_nan, :is_infinity, :logical_not] do
    test "#{op} of all types" do
      for type <- types(), shape <- @shapes do
        same!(unquote(op), [random(type, shape)], fn t -> Nx.unquote(op)(t) end)
      end
    end
  end

  for op <- [:bitwise_not, :count_leading_zeros, :population_count] do
    test "#{op} of integers" do
      for type <- integers(), shape <- @shapes do
        same!(unquote(op), [random(type, shape)], fn t -> Nx.unquote(op)(t) end)
      end
    end
  end

  for op <- [:conjugate, :real, :imag, :exp, :sqrt, :sin, :cosh] do
    test "#{op} of complex numbers" do
      for type <- complex(), shape <- @shapes do
        same!(unquote(op), [random(type, shape)], fn t -> Nx.unquote(op)(t) end, 16)
      end
    end
  end

  # For exponentials, logarithms, roots, sines and cosines Nx.BinaryBackend is no oracle
  # there: what it computes is neither the limit nor the arithmetic. Many elements are on
  # the device, few on the host.
  for op <- [:tan, :tanh, :asin, :acos, :atan, :asinh, :acosh, :atanh, :rsqrt] do
    test "#{op} of complex numbers that are not finite" do
      parts = [:neg_infinity, -3.0, -0.0, 0.0, 0.5, :infinity, :nan]
      numbers = for re <- parts, im <- parts, is_atom(re) or is_atom(im), do: Complex.new(re, im)

      for type <- complex(), list <- Enum.map(numbers, &[&1]) ++ [Stream.cycle(numbers)] do
        t = Nx.tensor(Enum.take(list, 5000), type: type, backend: Nx.BinaryBackend)
        same!(unquote(op), [t], fn t -> Nx.unquote(op)(t) end)
      end
    end
  end

  for op <- [:sum, :product, :reduce_max, :reduce_min, :all, :any] do
    test "#{op} over any axes" do
      for type <- types(),
          axes <- [nil, [0], [1], [2], [0, 2], [0, 1, 2]],
          keep <- [false, true] do
        options = [keep_axes: keep] ++ if(axes, do: [axes: axes], else: [])
        t = random(type, {2, 3, 4}, :positive)
        same!(unquote(op), [t], fn t -> Nx.unquote(op)(t, options) end, 32)
      end
    end
  end

  for op <- [:argmax, :argmin] do
    test "#{op}" do
      for type <- integers() ++ floats(), axis <- [nil, 0, 1], tie <- [:low, :high] do
        options = [axis: axis, tie_break: tie]
        t = random(type, {3, 5}, :small)
        same!(unquote(op), [t], fn t -> Nx.unquote(op)(t, options) end)
      end
    end
  end

  test "conversions between all types" do
    for from <- types(), to <- types(), shape <- [{}, {7}] do
      same!("as_type #{inspect(to)}", [random(from, shape, :small)], &Nx.as_type(&1, to))
    end
  end

  test "conversions of what is not finite" do
    for from <- floats(), to <- integers() ++ floats(), n <- [:nan, :infinity, :neg_infinity] do
      t = Nx.tensor([n, 1], type: from, backend: Nx.BinaryBackend)
      same!("as_type #{inspect(to)}", [t], &Nx.as_type(&1, to))
    end
  end

  test "movements of all types" do
    for type <- types() do
      t = random(type, {2, 3, 4})

      for {label, fun} <- [
            transpose: &Nx.transpose/1,
            transpose_axes: &Nx.transpose(&1, axes: [1, 0, 2]),
            reshape: &Nx.reshape(&1, {4, 6}),
            slice: &Nx.slice(&1, [0, 1, 1], [2, 2, 3], strides: [1, 1, 2]),
            reverse: &Nx.reverse(&1, axes: [0, 2]),
            squeeze: &Nx.squeeze(Nx.slice_along_axis(&1, 1, 1, axis: 1)),
            broadcast: &Nx.broadcast(Nx.new_axis(&1, 1), {2, 5, 3, 4}),
            pad: &Nx.pad(&1, Nx.tensor(1, type: type), [{1, 2, 0}, {0, 0, 1}, {-1, 2, 2}]),
            concatenate: &Nx.concatenate([&1, &1, Nx.reverse(&1)], axis: 1),
            stack: &Nx.stack([&1, &1], axis: 2),
            put_slice: &Nx.put_slice(&1, [1, 1, 0], Nx.slice(&1, [0, 0, 0], [1, 2, 2])),
            select: &Nx.select(Nx.greater(Nx.as_type(&1, :f32), 1), &1, 0),
            to_batched: &Nx.concatenate(Enum.to_list(Nx.to_batched(&1, 1)))
          ] do
        same!(label, [t], fun)
      end
    end
  end

  test "dynamic slices are clamped" do
    for start <- [-3, 0, 1, 7] do
      t = random({:f, 32}, {4, 5})
      at = Nx.tensor(start, backend: Nx.BinaryBackend)
      same!("slice at #{start}", [t, at], fn t, s -> Nx.slice(t, [s, 1], [2, 3]) end)
      same!("put at #{start}", [t, at], fn t, s -> Nx.put_slice(t, [s, s], Nx.iota({2, 2})) end)
    end
  end

  test "dot of all types, axes and batches" do
    for type <- types() do
      left = random(type, {2, 3, 4}, :positive)
      right = random(type, {2, 4, 3}, :positive)
      same!("dot batched", [left, right], &Nx.dot(&1, [2], [0], &2, [1], [0]), 32)
      same!("dot two axes", [left, right], &Nx.dot(&1, [1, 2], &2, [2, 1]), 32)
      same!("outer", [left, right], &Nx.dot(&1, [], &2, []), 32)
      same!("matrix", [left[0], right[0]], &Nx.dot/2, 32)
    end
  end

  test "iota and eye of all types" do
    for type <- types() do
      same!("iota", [], fn -> Nx.iota({2, 2}, type: type) end)
      same!("iota axis", [], fn -> Nx.iota({2, 3}, type: type, axis: 1) end)
      same!("eye", [], fn -> Nx.eye({2, 3, 3}, type: type) end)
      same!("fill", [], fn -> Nx.broadcast(Nx.tensor(1, type: type), {300}) end)
    end
  end

  test "clip" do
    for type <- integers() ++ floats() do
      same!("clip", [random(type, {3, 50}, :small)], &Nx.clip(&1, 1, 2))
    end
  end

  test "bits survive upload and download" do
    for type <- types(), count <- [4, 8, 400] do
      t = random(type, {count})
      bits = Nx.to_binary(t)
      copy = Nx.backend_copy(t, NxVulkanGo.Backend)
      assert Nx.to_binary(copy) == bits
      assert bit_size(Nx.to_binary(copy, limit: 3)) == 3 * div(bit_size(bits), count)
    end
  end
end
