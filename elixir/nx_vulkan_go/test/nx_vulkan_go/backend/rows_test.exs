defmodule NxVulkanGo.Backend.RowsTest do
  use ExUnit.Case, async: true

  alias NxVulkanGo.Backend.Rows

  @types [f: 32, s: 32, s: 64, u: 8]

  setup do
    :rand.seed(:exsss, {ExUnit.configuration()[:seed], 14, 10})
    :ok
  end

  defp pick(list), do: Enum.at(list, :rand.uniform(length(list)) - 1)

  # Bits of any number, also of one that is not finite.
  defp extreme({_, bits}), do: :rand.bytes(div(bits, 8))

  # Small numbers, which often are equal, or zeros.
  defp plain({:f, bits}),
    do: <<pick([0.0, -0.0, 1.5, -2.0, :rand.normal()])::float-little-size(bits)>>

  defp plain({_, bits}), do: <<:rand.uniform(5) - 1::little-size(bits)>>

  defp tensor(type, shape, element) do
    data = for _ <- 1..Tuple.product(shape)//1, into: <<>>, do: element.(type)
    data |> Nx.from_binary(type, backend: Nx.BinaryBackend) |> Nx.reshape(shape)
  end

  for op <- Rows.ops() do
    test "#{op} has the bits of Nx.BinaryBackend, or leaves the elements to it" do
      computed =
        for _ <- 1..400, reduce: 0 do
          computed ->
            shape = pick([{1}, {7}, {3, 5}, {1, 4}, {2, 3, 4}, {4, 1, 1}, {}])
            type = pick(@types)
            tensor = tensor(type, shape, pick([&extreme/1, &plain/1, &plain/1]))

            axes =
              pick([
                nil | for(axis <- Nx.axes(shape), do: Enum.to_list(axis..(tuple_size(shape) - 1)))
              ])

            expected = apply(Nx, unquote(op), [tensor, if(axes, do: [axes: axes], else: [])])
            count = Rows.length(shape, axes)
            actual = Rows.elements(unquote(op), type, expected.type, Nx.to_binary(tensor), count)

            if actual do
              assert {tensor, axes, actual} == {tensor, axes, Nx.to_binary(expected)}
              computed + 1
            else
              computed
            end
        end

      assert computed > 200
    end
  end

  test "rows are of the last axes, in any order" do
    assert Rows.length({2, 3, 4}, nil) == 24
    assert Rows.length({2, 3, 4}, [2]) == 4
    assert Rows.length({2, 3, 4}, [2, 1]) == 12
    assert Rows.length({2, 3, 4}, [1]) == nil
    assert Rows.length({2, 3, 4}, [0, 2]) == nil
  end

  test "what is not a number or does not fit is left to Nx.BinaryBackend" do
    infinity = <<0, 0, 0x80, 0x7F>>
    large = <<3.0e38::float-little-32>>
    assert Rows.elements(:sum, {:f, 32}, {:f, 32}, infinity <> large, 2) == nil
    assert Rows.elements(:sum, {:f, 32}, {:f, 32}, large <> large, 2) == nil
    assert Rows.elements(:reduce_max, {:f, 32}, {:f, 32}, large <> infinity, 1) == nil
    assert Rows.elements(:reduce_max, {:f, 32}, {:f, 32}, large <> large, 1) == large <> large
    assert Rows.elements(:sum, {:f, 16}, {:f, 16}, <<0::16>>, 1) == nil
    assert Rows.elements(:sum, {:s, 32}, {:s, 32}, <<>>, 0) == nil
  end
end
