defmodule NxVulkanGo.Backend.OracleStructuredTest do
  # Operations on indices, windows, orders and signals against Nx.BinaryBackend.
  use ExUnit.Case, async: false

  import NxVulkanGo.Oracle

  setup do
    :rand.seed(:exsss, {ExUnit.configuration()[:seed], 3, 4})
    :ok
  end

  @real integers() ++ floats()

  defp indices(list), do: Nx.tensor(list, backend: Nx.BinaryBackend)

  test "gather, take and take_along_axis of all types" do
    for type <- types() do
      t = random(type, {4, 5, 3})
      pairs = indices([[0, 1], [3, 4], [2, 2]])
      same!("gather", [t, pairs], &Nx.gather(&1, &2, axes: [0, 1]))
      same!("gather", [t, indices([[[0], [2]]])], &Nx.gather(&1, &2, axes: [2]))
      same!("take", [t, indices([[1, 0], [4, 4]])], &Nx.take(&1, &2, axis: 1))

      along =
        indices(for(_ <- 1..4, do: for(_ <- 1..2, do: for(_ <- 1..3, do: :rand.uniform(5) - 1))))

      same!("take_along_axis", [t, along], &Nx.take_along_axis(&1, &2, axis: 1))
    end
  end

  # Sums of up to three numbers below 4, which may cancel.
  @summed 12

  test "indexed_add and indexed_put of all types" do
    for type <- types() do
      t = random(type, {3, 4}, :small)
      at = indices([[0, 1], [2, 3], [0, 1], [1, 1]])
      updates = random(type, {4}, :small)
      same!("indexed_add", [t, at, updates], &Nx.indexed_add(&1, &2, &3), 4, @summed)

      same!(
        "indexed_put",
        [t, indices([[0, 1], [2, 3]]), random(type, {2})],
        &Nx.indexed_put(&1, &2, &3)
      )

      rows = random(type, {2, 4}, :small)

      same!(
        "indexed_add rows",
        [t, indices([[1], [1]]), rows],
        &Nx.indexed_add(&1, &2, &3, axes: [0]),
        4,
        @summed
      )
    end
  end

  for {op, least} <- [window_sum: 1, window_product: 0, window_max: 0, window_min: 0] do
    test "#{op}" do
      for type <- @real,
          options <- [
            [],
            [strides: [2, 1]],
            [padding: :same],
            [padding: [{1, 2}, {0, 1}]],
            [window_dilations: [1, 2]]
          ] do
        t = random(type, {5, 6}, :small)
        windows = &Nx.unquote(op)(&1, {2, 2}, options)
        same!("#{unquote(op)} #{inspect(options)}", [t], windows, 32, unquote(least))
      end
    end
  end

  for op <- [:window_scatter_max, :window_scatter_min] do
    test "#{op}" do
      # Nx.BinaryBackend rounds f64 to f32 here.
      for type <- [{:s, 32}, {:f, 32}] do
        # All elements differ, so that there are no ties.
        t = Nx.with_default_backend(Nx.BinaryBackend, fn -> shuffled({4, 6}, type) end)
        source = random(type, {2, 2}, :small)
        fun = &Nx.unquote(op)(&1, &2, 0, {2, 3}, strides: [2, 3], padding: :valid)
        same!(unquote(op), [t, source], fun)
      end
    end
  end

  defp shuffled(shape, type) do
    1..Tuple.product(shape) |> Enum.shuffle() |> Nx.tensor(type: type) |> Nx.reshape(shape)
  end

  test "sort, argsort and top_k" do
    for type <- @real, axis <- [0, 1], direction <- [:asc, :desc] do
      t = random(type, {5, 7}, :small)
      options = [axis: axis, direction: direction]
      same!("sort #{inspect(options)}", [t], &Nx.sort(&1, options))
      same!("argsort #{inspect(options)}", [t], &Nx.argsort(&1, options ++ [stable: true]))
      same!("top_k", [t], fn t -> elem(Nx.top_k(t, k: 3), 0) end)
    end
  end

  test "sort puts NaN last" do
    for direction <- [:asc, :desc], type <- [{:f, 32}, {:f, 64}, {:bf, 16}] do
      t =
        Nx.tensor([1, :nan, :infinity, -1, :neg_infinity, 0],
          type: type,
          backend: Nx.BinaryBackend
        )

      same!("sort #{direction}", [t], &Nx.sort(&1, direction: direction))
    end
  end

  for op <- [:cumulative_sum, :cumulative_product, :cumulative_min, :cumulative_max] do
    test "#{op}" do
      for type <- @real, axis <- [0, 1], reverse <- [false, true] do
        t = random(type, {3, 9}, :positive)
        options = [axis: axis, reverse: reverse]
        # Narrow floats round at other places in another order.
        unless type in [{:f, 8}, {:f8_e4m3fn, 8}, {:bf, 16}, {:f, 16}] and
                 unquote(op) in [:cumulative_sum, :cumulative_product] do
          same!("#{unquote(op)} #{inspect(options)}", [t], &Nx.unquote(op)(&1, options), 64)
        end
      end
    end
  end

  test "Fourier transforms" do
    for type <- [{:f, 64}, {:c, 128}], length <- [4, 6, 7, 16] do
      t = random(type, {3, 6})
      near!("fft", [t], &Nx.fft(&1, length: length))
      near!("ifft", [t], &Nx.ifft(&1, length: length))
      near!("fft2", [t], &Nx.fft2/1)
    end

    near!("rfft", [random({:f, 64}, {2, 8})], &Nx.rfft/1)
    near!("irfft", [random({:c, 128}, {2, 5})], &Nx.irfft/1)
  end

  test "conv of any strides, paddings, dilations and groups" do
    for type <- [{:f, 32}, {:f, 64}, {:s, 32}, {:c, 64}],
        options <- [
          [],
          [strides: [2, 1]],
          [padding: :same],
          [padding: [{1, 0}, {2, 1}]],
          [input_dilation: [2, 1]],
          [kernel_dilation: [1, 2]]
        ] do
      t = random(type, {2, 4, 6, 5}, :small)

      near!(
        "conv #{inspect(options)}",
        [t, random(type, {3, 4, 2, 2}, :small)],
        &Nx.conv(&1, &2, options)
      )
    end

    t = random({:f, 32}, {2, 4, 6, 5})
    kernel = random({:f, 32}, {6, 2, 2, 2})
    near!("conv groups", [t, kernel], &Nx.conv(&1, &2, feature_group_size: 2))
    batch = random({:f, 32}, {4, 2, 2, 2})

    near!(
      "conv batch groups",
      [t, Nx.tile(batch, [1, 2, 1, 1])],
      &Nx.conv(&1, &2, batch_group_size: 2)
    )

    last = [
      input_permutation: [0, 3, 1, 2],
      kernel_permutation: [3, 2, 0, 1],
      output_permutation: [0, 3, 1, 2]
    ]

    t = random({:f, 32}, {2, 6, 5, 4})
    near!("conv channels last", [t, random({:f, 32}, {2, 2, 4, 3})], &Nx.conv(&1, &2, last))
  end

  test "triangular solve" do
    for type <- [{:f, 32}, {:f, 64}], lower <- [true, false], transform <- [:none, :transpose] do
      a =
        Nx.with_default_backend(Nx.BinaryBackend, fn ->
          random(type, {2, 4, 4}, :positive) |> Nx.add(Nx.multiply(Nx.eye(4, type: type), 8))
        end)

      options = [lower: lower, transform_a: transform]
      fun = &Nx.LinAlg.triangular_solve(&1, &2, options)
      near!("triangular_solve #{inspect(options)}", [a, random(type, {2, 4, 3})], fun)
    end
  end

  test "all_close and phase" do
    a = random({:f, 32}, {10})
    same!("all_close", [a, a], &Nx.all_close/2)
    same!("all_close", [a, random({:f, 32}, {10})], &Nx.all_close/2)
    same!("phase", [random({:c, 64}, {10})], &Nx.phase/1)
  end

  # Sums whose parts cancel have no relative bound of their own: theirs is that of the largest result.
  defp near!(label, tensors, fun) do
    [expected, actual] =
      for backend <- [Nx.BinaryBackend, NxVulkanGo.Backend] do
        Nx.with_default_backend(backend, fn ->
          fun |> apply(Enum.map(tensors, &Nx.backend_copy(&1, backend))) |> Nx.backend_copy()
        end)
      end

    assert {actual.type, actual.shape, actual.names} ==
             {expected.type, expected.shape, expected.names}

    [difference, largest] =
      Nx.with_default_backend(Nx.BinaryBackend, fn ->
        for t <- [Nx.subtract(expected, actual), expected],
            do: t |> Nx.abs() |> Nx.reduce_max() |> Nx.to_number()
      end)

    unit = if expected.type in [{:f, 64}, {:c, 128}], do: 1.2e-16, else: 6.0e-8
    assert difference <= 64 * unit * max(1.0, largest), "#{label}: #{difference} apart"
  end
end
