defmodule NxVulkanGo.Backend.PointwiseTest do
  use ExUnit.Case, async: true

  alias NxVulkanGo.Backend.Pointwise

  @types [f: 32, s: 32, s: 64, u: 8, u: 32]
  @scalars [f: 64, s: 8, s: 16, u: 16, u: 64] ++ @types

  setup do
    :rand.seed(:exsss, {ExUnit.configuration()[:seed], 14, 9})
    :ok
  end

  defp pick(list), do: Enum.at(list, :rand.uniform(length(list)) - 1)

  # Bits of any number, also of one that is not finite.
  defp extreme(_type, bytes), do: :rand.bytes(bytes)

  # Small numbers, which often are equal, or zeros.
  defp plain({:f, bits}, _bytes),
    do: <<pick([0.0, -0.0, 1.5, -2.0, :rand.normal()])::float-little-size(bits)>>

  defp plain({_, bits}, _bytes), do: <<:rand.uniform(5) - 1::little-size(bits)>>

  defp draw({_, bits} = type, count, element),
    do: for(_ <- 1..count, into: <<>>, do: element.(type, div(bits, 8)))

  # The tensor, and what elements/5 takes for it.
  defp tensor(type, shape, data) do
    tensor = Nx.from_binary(data, type, backend: Nx.BinaryBackend) |> Nx.reshape(shape)
    {tensor, if(shape == {}, do: Pointwise.number(type, data), else: data)}
  end

  # What Nx.BinaryBackend computes; nil where it raises.
  defp expected(op, left, right) do
    apply(Nx, op, [left, right])
  rescue
    _ -> nil
  end

  for op <- Pointwise.ops() do
    test "#{op} has the bits of Nx.BinaryBackend, or leaves the elements to it" do
      computed =
        for _ <- 1..400, reduce: 0 do
          computed ->
            # Any integer to the power of any other takes more memory than there is.
            element =
              if unquote(op) == :pow, do: &plain/2, else: pick([&extreme/2, &plain/2, &plain/2])

            count = pick([1, 2, 3, 17])
            {type, shape} = {pick(@types), {count}}
            {left, xs} = tensor(type, shape, draw(type, count, element))

            {other, shape} = pick([{type, shape}, {pick(@scalars), {}}])

            {right, ys} =
              tensor(other, shape, draw(other, if(shape == {}, do: 1, else: count), element))

            {left, right, xs, ys} =
              if shape == {} and pick([true, false]),
                do: {right, left, ys, xs},
                else: {left, right, xs, ys}

            result = expected(unquote(op), left, right)

            actual =
              result && xs && ys && Pointwise.elements(unquote(op), type, result.type, xs, ys)

            if actual do
              assert {left, right, actual} == {left, right, Nx.to_binary(result)}
              computed + 1
            else
              computed
            end
        end

      assert computed > 40
    end
  end

  test "what is not a number or does not fit is left to Nx.BinaryBackend" do
    infinity = <<0, 0, 0x80, 0x7F>>
    large = <<3.0e38::float-little-32>>
    assert Pointwise.number({:f, 32}, infinity) == nil
    assert Pointwise.elements(:add, {:f, 32}, {:f, 32}, infinity, large) == nil
    assert Pointwise.elements(:add, {:f, 32}, {:f, 32}, large, large) == nil
    assert Pointwise.elements(:multiply, {:f, 32}, {:f, 32}, large, 2) == nil
    assert Pointwise.elements(:divide, {:f, 32}, {:f, 32}, large, 0) == nil
    assert Pointwise.elements(:quotient, {:s, 32}, {:s, 32}, <<1::32>>, <<0::32>>) == nil

    assert Pointwise.elements(:pow, {:s, 32}, {:s, 32}, <<2::32-little>>, <<65::32-little>>) ==
             nil

    assert Pointwise.elements(:pow, {:s, 32}, {:s, 32}, <<2::32-little>>, -1) == nil
    assert Pointwise.elements(:add, {:f, 16}, {:f, 16}, <<0::16>>, <<0::16>>) == nil
  end
end
