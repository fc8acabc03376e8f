defmodule Nx.Vulkan.NativeVTest do
  use ExUnit.Case, async: true
  alias Nx.Vulkan.NativeV, as: V

  defp floats(values), do: for(x <- values, into: <<>>, do: <<x::float-32-little>>)
  defp doubles(values), do: for(x <- values, into: <<>>, do: <<x::float-64-little>>)
  defp read32(ref), do: for(<<x::float-32-little <- elem(V.buf_download(ref), 1)>>, do: x)
  defp read64(ref), do: for(<<x::float-64-little <- elem(V.buf_download(ref), 1)>>, do: x)

  test "buffers keep bytes, know their size and change" do
    {:ok, ref} = V.buf_upload(<<1, 2, 3>>)
    assert V.buf_byte_size(ref) == 3
    assert V.buf_download(ref) == {:ok, <<1, 2, 3>>}
    assert V.buf_upload_into(ref, <<4, 5, 6>>) == :ok
    assert V.buf_download(ref) == {:ok, <<4, 5, 6>>}
    assert V.buf_upload_into(ref, <<1>>) == {:error, :size_mismatch}
    {:ok, zero} = V.buf_alloc(4)
    assert V.buf_download(zero) == {:ok, <<0, 0, 0, 0>>}
  end

  test "a buffer goes with the process that made it" do
    {:ok, ref} = Task.await(Task.async(fn -> V.buf_upload(<<1>>) end))
    # The table's owner hears of the end of the task before this call.
    :sys.get_state(Nx.Vulkan.Buffers)
    assert_raise ArgumentError, ~r/no buffer/, fn -> V.buf_download(ref) end
  end

  test "binary operations by code, in both types" do
    a = [1.0, 2.0, 4.0]
    b = [2.0, 2.0, 0.5]

    for {{fun, op}, i} <-
          Enum.with_index([
            {&+/2, 0},
            {&*/2, 1},
            {&-/2, 2},
            {&//2, 3},
            {&:math.pow/2, 4},
            {&max/2, 5},
            {&min/2, 6}
          ]),
        {pack, read, width, path} <- [
          {&floats/1, &read32/1, 4, "elementwise_binary.spv"},
          {&doubles/1, &read64/1, 8, "elementwise_binary_f64.spv"}
        ] do
      assert op == i
      {:ok, ra} = V.buf_upload(pack.(a))
      {:ok, rb} = V.buf_upload(pack.(b))
      {:ok, out} = V.buf_alloc(3 * width)
      assert V.apply_binary(out, ra, rb, 3, op, path) == :ok
      for {x, y, z} <- Enum.zip([a, b, read.(out)]), do: assert_in_delta(z, fun.(x, y), 1.0e-6)
    end
  end

  test "unary operations by code" do
    x = 0.5
    {:ok, a} = V.buf_upload(doubles([x]))
    {:ok, out} = V.buf_alloc(8)
    sigmoid = 1 / (1 + :math.exp(-x))

    want =
      [:math.exp(x), :math.log(x), :math.sqrt(x), x, -x, sigmoid, :math.tanh(x)] ++
        [x, 1.0, 0.0, 1.0, 2.0, 0.25]

    for {y, op} <- Enum.with_index(want) do
      assert V.apply_unary(out, a, 1, op, "unary_f64.spv") == :ok
      assert [got] = read64(out)
      assert_in_delta got, y, 1.0e-14
    end

    assert_raise ArgumentError, fn -> V.apply_unary(out, a, 1, 13, "unary_f64.spv") end
  end

  test "reductions, transposes, products" do
    {:ok, a} = V.buf_upload(floats(Enum.map(1..6, &(&1 * 1.0))))
    {:ok, out} = V.buf_alloc(8)
    assert V.reduce_axis(out, a, 2, 3, 1, 0, "reduce.spv") == :ok
    assert read32(out) == [6.0, 15.0]
    assert V.reduce_axis(out, a, 1, 3, 2, 1, "reduce.spv") == :ok
    assert read32(out) == [5.0, 6.0]
    assert V.reduce_axis(out, a, 2, 3, 1, 2, "reduce.spv") == :ok
    assert read32(out) == [1.0, 4.0]

    {:ok, turned} = V.buf_alloc(24)
    assert V.transpose_2d(turned, a, 2, 3, "transpose.spv") == :ok
    assert read32(turned) == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]

    {:ok, product} = V.buf_alloc(16)
    assert V.matmul(product, a, turned, 2, 2, 3, "matmul.spv") == :ok
    assert read32(product) == [14.0, 32.0, 32.0, 77.0]
    assert V.matmul(out, a, turned, 2, 2, 3, "matmul.spv") == {:error, :size_mismatch}
    assert V.matmul(product, a, turned, 2, 2, 4, "matmul.spv") == {:error, :size_mismatch}
  end
end
