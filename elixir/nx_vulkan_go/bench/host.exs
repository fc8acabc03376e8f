# Measures operations on the host of a server without a device, and on Nx.BinaryBackend:
#
#     mix run bench/host.exs [pattern of names]
#
# Large arrays have 10^6 elements, other sizes are in the names. Each time is the
# best of several calls. Each call ends with a read of one element, so that both sides have
# finished; the elements are compared. Concatenation and take of whole rows are copies of
# memory on both sides: their times are those of the memory, of the page faults of the
# result, and of the messages, so no large factor is possible.

defmodule Host do
  @n 1_000_000

  def cases do
    pointwise() ++
      functions() ++ folds() ++ movement() ++ indexing() ++ products() ++ transforms()
  end

  defp pointwise do
    for type <- [:f32, :f64, :s32, :s64],
        {name, f} <- [add: &Nx.add/2, multiply: &Nx.multiply/2] do
      {"#{name} #{type}", fn -> [vector(type), vector(type)] end, f}
    end ++
      [
        {"add f32 to its rows", fn -> [matrix(:f32), row(:f32)] end, &Nx.add/2},
        {"add f32 and s32", fn -> [vector(:f32), vector(:s32)] end, &Nx.add/2},
        {"add bf16", fn -> [vector(:bf16), vector(:bf16)] end, &Nx.add/2},
        {"exp f32", fn -> [vector(:f32)] end, &Nx.exp/1},
        {"exp f64", fn -> [vector(:f64)] end, &Nx.exp/1},
        {"tanh f32", fn -> [vector(:f32)] end, &Nx.tanh/1},
        {"sqrt f32", fn -> [positive()] end, &Nx.sqrt/1},
        {"negate f32", fn -> [vector(:f32)] end, &Nx.negate/1},
        {"abs s64", fn -> [vector(:s64)] end, &Nx.abs/1},
        {"less f32", fn -> [vector(:f32), vector(:f32)] end, &Nx.less/2},
        {"logical_and u8", fn -> [vector(:u8), vector(:u8)] end, &Nx.logical_and/2},
        {"pow f32", fn -> [positive(), vector(:f32)] end, &Nx.pow/2},
        {"quotient s64", fn -> [vector(:s64), Nx.tensor(7)] end, &Nx.quotient/2},
        {"as_type f32 to s64", fn -> [vector(:f32)] end, &Nx.as_type(&1, :s64)},
        {"as_type s32 to f32", fn -> [vector(:s32)] end, &Nx.as_type(&1, :f32)},
        {"select f32", fn -> [vector(:u8), vector(:f32), vector(:f32)] end, &Nx.select/3},
        {"clip f32", fn -> [vector(:f32)] end, &Nx.clip(&1, 0, 1)},
        {"multiply c64", fn -> [vector(:c64), vector(:c64)] end, &Nx.multiply/2}
      ]
  end

  # The functions of one number, within their domains, and of two.
  defp functions do
    for(
      name <- ~w(expm1 log log1p sigmoid sin cos tan sinh cosh asin acos atan asinh acosh atanh
                 rsqrt cbrt erf erfc erf_inv floor round ceil sign is_nan)a,
      type <- [:f32, :f64],
      do: {"#{name} #{type}", fn -> [within(name, type)] end, &apply(Nx, name, [&1])}
    ) ++
      for(
        name <- ~w(subtract divide pow atan2 remainder min max equal)a,
        do:
          {"#{name} f64", fn -> [positive(:f64), positive(:f64)] end, &apply(Nx, name, [&1, &2])}
      ) ++
      for(
        name <- ~w(remainder quotient bitwise_and bitwise_xor left_shift right_shift logical_or
                   greater_equal)a,
        type <- [:s32, :s64],
        do:
          {"#{name} #{type}", fn -> [vector(type), exponents(type)] end,
           &apply(Nx, name, [&1, &2])}
      ) ++
      [
        {"pow s64", fn -> [vector(:s64), exponents(:s64)] end, &Nx.pow/2},
        {"exp c64", fn -> [vector(:c64)] end, &Nx.exp/1},
        {"exp bf16", fn -> [vector(:bf16)] end, &Nx.exp/1},
        {"bitwise_not s32", fn -> [vector(:s32)] end, &Nx.bitwise_not/1},
        {"population_count s32", fn -> [vector(:s32)] end, &Nx.population_count/1},
        {"count_leading_zeros s64", fn -> [vector(:s64)] end, &Nx.count_leading_zeros/1}
      ]
  end

  defp folds do
    for type <- [:f32, :f64, :s32, :s64],
        {name, axes} <- [all: nil, "axis 0": [0], "axis 1": [1]] do
      {"sum #{type} #{name}", fn -> [matrix(type)] end, &Nx.sum(&1, axes: axes)}
    end ++
      [
        {"reduce_max f32 all", fn -> [matrix(:f32)] end, &Nx.reduce_max/1},
        {"reduce_max f32 axis 0", fn -> [matrix(:f32)] end, &Nx.reduce_max(&1, axes: [0])},
        {"product f32 axis 1", fn -> [matrix(:f32)] end, &Nx.product(&1, axes: [1])},
        {"all u8", fn -> [vector(:u8)] end, &Nx.all/1},
        {"mean f32 axis 1", fn -> [matrix(:f32)] end, &Nx.mean(&1, axes: [1])},
        {"argmax f32 all", fn -> [vector(:f32)] end, &Nx.argmax/1},
        {"argmax f32 axis 0", fn -> [matrix(:f32)] end, &Nx.argmax(&1, axis: 0)},
        {"argmax f32 axis 1", fn -> [matrix(:f32)] end, &Nx.argmax(&1, axis: 1)},
        {"cumulative_sum f32", fn -> [vector(:f32)] end, &Nx.cumulative_sum/1},
        {"cumulative_sum s64 axis 0", fn -> [matrix(:s64)] end, &Nx.cumulative_sum(&1, axis: 0)},
        {"cumulative_max f32", fn -> [matrix(:f32)] end, &Nx.cumulative_max(&1, axis: 1)},
        {"window_sum f32 3x3", fn -> [matrix(:f32)] end, &Nx.window_sum(&1, {3, 3})},
        {"window_max f32 2x2/2", fn -> [matrix(:f32)] end,
         &Nx.window_max(&1, {2, 2}, strides: [2, 2])},
        {"reduce f32 axis 1", fn -> [matrix(:f32)] end,
         fn x -> Nx.reduce(x, 0, [axes: [1]], &Nx.add/2) end}
      ]
  end

  defp movement do
    [
      {"transpose f32", fn -> [matrix(:f32)] end, &Nx.transpose/1},
      {"transpose f64", fn -> [matrix(:f64)] end, &Nx.transpose/1},
      {"transpose f32 100x100x100", fn -> [cube(:f32)] end, &Nx.transpose(&1, axes: [1, 2, 0])},
      {"reverse f32", fn -> [matrix(:f32)] end, &Nx.reverse/1},
      {"pad f32", fn -> [matrix(:f32)] end, &Nx.pad(&1, 0.0, [{1, 1, 0}, {2, 2, 0}])},
      {"slice f32", fn -> [matrix(:f32)] end, &Nx.slice(&1, [10, 10], [900, 900])},
      {"concatenate f32 axis 1", fn -> [matrix(:f32), matrix(:f32)] end,
       &Nx.concatenate([&1, &2], axis: 1)},
      {"broadcast f32", fn -> [row(:f32)] end, &Nx.broadcast(&1, {1000, 1000})},
      {"iota s64", fn -> [] end, fn -> Nx.iota({1000, 1000}, axis: 1) end}
    ]
  end

  defp indexing do
    [
      {"sort f32", fn -> [vector(:f32)] end, &Nx.sort/1},
      {"sort s64", fn -> [vector(:s64)] end, &Nx.sort/1},
      {"sort f32 axis 0", fn -> [matrix(:f32)] end, &Nx.sort(&1, axis: 0)},
      {"argsort f32", fn -> [vector(:f32)] end, &Nx.argsort/1},
      {"take f32", fn -> [matrix(:f32), indices()] end, &Nx.take/2},
      {"take f32 single", fn -> [vector(:f32), places()] end, &Nx.take/2},
      {"gather f32", fn -> [matrix(:f32), pairs()] end, &Nx.gather/2},
      {"take_along_axis f32", fn -> [matrix(:f32), Nx.reshape(indices(), {1000, 1})] end,
       fn x, i -> Nx.take_along_axis(x, Nx.broadcast(i, {1000, 1000}), axis: 1) end},
      {"indexed_add f32", fn -> [matrix(:f32), pairs(), vector(:f32)] end, &Nx.indexed_add/3}
    ]
  end

  defp products do
    square = fn type -> data(type, {256, 256}) end

    for type <- [:f32, :f64, :s32, :s64, :bf16, :c64] do
      {"dot #{type} 256x256", fn -> [square.(type), square.(type)] end, &Nx.dot/2}
    end ++
      [
        {"dot f32 matrix and vector", fn -> [matrix(:f32), row(:f32)] end, &Nx.dot/2},
        {"conv f32 1x4x64x64 8x4x3x3",
         fn -> [data(:f32, {1, 4, 64, 64}), data(:f32, {8, 4, 3, 3})] end,
         &Nx.conv(&1, &2, padding: :same)}
      ]
  end

  defp transforms do
    square = data(:f64, {64, 64})
    definite = Nx.add(Nx.dot(square, Nx.transpose(square)), Nx.multiply(Nx.eye(64), 64))

    [
      {"fft c64 64x256", fn -> [data(:c64, {64, 256})] end, &Nx.fft/1},
      {"fft c64 2048", fn -> [data(:c64, {2048})] end, &Nx.fft/1},
      {"cholesky f64 64x64", fn -> [definite] end, &Nx.LinAlg.cholesky/1},
      {"solve f64 64x64", fn -> [definite, square] end, &Nx.LinAlg.solve/2},
      {"qr f64 64x64", fn -> [square] end, fn x -> elem(Nx.LinAlg.qr(x), 1) end},
      {"eigh f64 16x16", fn -> [Nx.slice(definite, [0, 0], [16, 16])] end,
       fn x -> elem(Nx.LinAlg.eigh(x), 0) end}
    ]
  end

  defp vector(type), do: data(type, {@n})
  defp matrix(type), do: data(type, {1000, 1000})
  defp cube(type), do: data(type, {100, 100, 100})
  defp row(type), do: data(type, {1000})
  defp positive(type \\ :f32), do: Nx.add(Nx.abs(vector(type)), 0.5)
  defp exponents(type), do: Nx.add(Nx.remainder(Nx.abs(vector(type)), 7), 1)

  defp within(name, type) when name in [:log, :rsqrt], do: positive(type)
  defp within(:acosh, type), do: Nx.add(positive(type), 1)

  defp within(name, type) when name in [:log1p, :atanh, :erf_inv],
    do: Nx.multiply(vector(type), 0.99)

  defp within(_, type), do: vector(type)
  defp indices, do: rem_iota(1000)
  defp places, do: Nx.remainder(Nx.multiply(Nx.iota({@n}), 2003), @n)
  defp rem_iota(n), do: Nx.remainder(Nx.multiply(Nx.iota({n}), 7), n)

  defp pairs do
    p = places()
    Nx.stack([Nx.quotient(p, 1000), Nx.remainder(p, 1000)], axis: 1)
  end

  # Numbers without an order, of both signs where the type has them.
  defp data(type, shape) do
    n = Tuple.product(shape)
    k = Nx.remainder(Nx.multiply(Nx.iota({n}), 2003), 1999)

    case type do
      :u8 ->
        Nx.remainder(k, 3)

      _ ->
        if integer?(type), do: Nx.subtract(k, 1000), else: Nx.divide(Nx.subtract(k, 1000), 1000)
    end
    |> Nx.as_type(type)
    |> Nx.reshape(shape)
  end

  defp integer?(type), do: type in [:s32, :s64]

  # One call is enough if it takes seconds. The result is freed: the next call takes its
  # memory, rather than pages that the kernel has yet to clear.
  def best(args, f, times) do
    {time, {result, read}} =
      :timer.tc(fn ->
        result = apply(f, args)
        {result, one(result)}
      end)

    Nx.backend_deallocate(result)

    if times > 1 and time < 2_000_000 do
      {next, read} = best(args, f, times - 1)
      {min(time, next), read}
    else
      {time, read}
    end
  end

  # The last element.
  defp one(t) do
    flat = Nx.flatten(t)
    flat |> Nx.slice([Nx.size(flat) - 1], [1]) |> Nx.to_flat_list() |> hd()
  end

  def close?(x, y) when is_number(x) and is_number(y), do: abs(x - y) <= 1.0e-3 * max(1, abs(x))
  def close?(x, y) when is_atom(x) or is_atom(y), do: x == y
  def close?(x, y), do: close?(x.re, y.re) and close?(x.im, y.im)
end

Application.put_env(:nx_vulkan_go, :node_args, ["--device", "host"])
only = Regex.compile!(List.first(System.argv()) || "")
IO.puts("operation\thost ms\tbinary ms\tratio")

Nx.default_backend(Nx.BinaryBackend)

for {name, args, f} <- Host.cases(), name =~ only do
  args = args.()
  {binary, want} = Host.best(args, f, 2)
  Nx.default_backend(NxVulkanGo.Backend)
  sent = Enum.map(args, &Nx.backend_transfer(&1, NxVulkanGo.Backend))
  {host, got} = Host.best(sent, f, 7)
  Nx.default_backend(Nx.BinaryBackend)
  ms = &:erlang.float_to_binary(&1 / 1000, decimals: 2)
  ratio = :erlang.float_to_binary(binary / host, decimals: 1)
  mark = if Host.close?(want, got), do: "", else: "\t#{inspect(got)}, not #{inspect(want)}"
  IO.puts(Enum.join([name, ms.(host), ms.(binary), ratio], "\t") <> mark)
end
