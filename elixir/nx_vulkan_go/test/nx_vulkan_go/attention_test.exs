defmodule NxVulkanGo.AttentionTest do
  # Attention beside a definition in lists, on every compiler, and as one instruction on a GPU.
  use ExUnit.Case, async: true

  import Nx.Defn

  alias Nx.Defn.Evaluator

  @seeds 1..24

  # Shapes, types and options that nobody has named, from a seed.
  defp drawn(seed) do
    :rand.seed(:exsss, seed)
    groups = pick(1..3)
    {heads, queries, keys} = {groups * pick(1..3), pick(1..9), pick(1..9)}

    {size, width, batch} =
      {pick(1..8), pick(1..8), Enum.take([pick(1..3), pick(1..2)], pick(0..2))}

    scores = batch ++ [heads, queries, keys]

    %{
      query: normal(batch ++ [heads, queries, size]),
      key: normal(batch ++ [groups, keys, size]),
      value: normal(batch ++ [groups, keys, width]),
      options:
        [causal: pick(0..1) == 1] ++
          if(pick(0..1) == 1, do: [scale: :rand.uniform()], else: []) ++
          if(pick(0..1) == 1, do: [bias: normal(narrowed(scores))], else: []) ++
          if(pick(0..2) == 1, do: [mask: mask(narrowed(scores))], else: [])
    }
  end

  defp pick(range), do: Enum.random(range)

  # A shape that broadcasts to another: dimensions of 1, and none of the first.
  defp narrowed(shape) do
    shape = for n <- shape, do: Enum.random([1, n])
    Enum.drop(shape, pick(0..(length(shape) - 1)))
  end

  defp normal(shape) do
    numbers = for _ <- 1..Enum.product(shape), do: :rand.normal()
    numbers |> Nx.tensor(type: :f32, backend: Nx.BinaryBackend) |> reshape(shape)
  end

  # The first key stays, so that no query is without any.
  defp mask(shape) do
    keys = List.last(shape)

    bits =
      for i <- 0..(Enum.product(shape) - 1), do: if(rem(i, keys) == 0, do: 1, else: pick(0..1))

    bits |> Nx.tensor(type: :u8, backend: Nx.BinaryBackend) |> reshape(shape)
  end

  defp reshape(t, shape),
    do: Nx.with_default_backend(Nx.BinaryBackend, fn -> Nx.reshape(t, List.to_tuple(shape)) end)

  ## The definition

  defp defined(%{query: query, key: key, value: value, options: options}) do
    {batch, [heads, queries, size]} = Enum.split(Tuple.to_list(query.shape), -3)
    [groups, keys, width] = Enum.take(Tuple.to_list(value.shape), -3)
    scale = options[:scale] || 1 / :math.sqrt(size)
    [q, k, v] = for t <- [query, key, value], do: at(t)
    {mask, bias} = {at(options[:mask]), at(options[:bias])}

    for index <- indices(batch), h <- 0..(heads - 1), i <- 0..(queries - 1) do
      group = index ++ [div(h, div(heads, groups))]

      logits =
        for j <- 0..(keys - 1) do
          place = index ++ [h, i, j]
          dot = Enum.sum(for d <- 0..(size - 1), do: q.(index ++ [h, i, d]) * k.(group ++ [j, d]))

          if (options[:causal] and j > i) or mask.(place) == 0,
            do: nil,
            else: dot * scale + (bias.(place) || 0)
        end

      most = logits |> Enum.reject(&is_nil/1) |> Enum.max()
      weights = for l <- logits, do: if(l, do: :math.exp(l - most), else: 0.0)
      sum = Enum.sum(weights)

      for c <- 0..(width - 1) do
        Enum.sum(for {w, j} <- Enum.with_index(weights), do: w / sum * v.(group ++ [j, c]))
      end
    end
    |> List.flatten()
  end

  # Reads an element of a tensor, or of what it is broadcast to.
  defp at(nil), do: fn _place -> nil end

  defp at(t) do
    {numbers, shape} = {t |> Nx.to_flat_list() |> List.to_tuple(), Tuple.to_list(t.shape)}

    fn place ->
      place = Enum.take(place, -length(shape))
      step = fn {i, n}, at -> at * n + if(n == 1, do: 0, else: i) end
      elem(numbers, place |> Enum.zip(shape) |> Enum.reduce(0, step))
    end
  end

  defp indices([]), do: [[]]
  defp indices([n | rest]), do: for(i <- 0..(n - 1), more <- indices(rest), do: [i | more])

  test "is what its definition says" do
    for seed <- @seeds do
      case = drawn(seed)
      expected = defined(case)

      for compiler <- [Evaluator, NxVulkanGo],
          do: close!(expected, attend(case, compiler), 1.0e-5, seed)

      close!(
        expected,
        NxVulkanGo.attention(case.query, case.key, case.value, case.options),
        1.0e-5,
        seed
      )
    end
  end

  defp attend(case, compiler, wrap \\ & &1) do
    {fun, args} = function(case)
    wrap.(fun) |> Nx.Defn.jit_apply(args, compiler: compiler) |> Nx.backend_copy(Nx.BinaryBackend)
  end

  defp function(case) do
    {tensors, options} = Keyword.split(case.options, [:mask, :bias])

    fun = fn q, k, v, tensors ->
      NxVulkanGo.attention(q, k, v, Map.to_list(tensors) ++ options)
    end

    {fun, [case.query, case.key, case.value, Map.new(tensors)]}
  end

  defp close!(expected, actual, within, label) do
    actual = Nx.to_flat_list(actual)
    assert length(expected) == length(actual)
    for {e, a} <- Enum.zip(expected, actual), do: assert_in_delta(e, a, within, "seed #{label}")
  end

  test "is one instruction on a GPU, whatever its options, with what surrounds it" do
    for seed <- @seeds, type <- [:f32, :bf16] do
      case = drawn(seed)
      case = Map.merge(case, Map.new([:query, :key, :value], &{&1, as_type(case[&1], type)}))
      {fun, args} = function(case)

      around = fn q, k, v, tensors ->
        Nx.exp(fun.(Nx.sin(q), k, Nx.multiply(v, 2), tensors))
      end

      lines =
        NxVulkanGo.explain(around, args, target: :gpu).parts |> Enum.flat_map(& &1.instructions)

      assert Nx.Defn.jit_apply(fun, args, compiler: Evaluator).type == Nx.Type.normalize!(type)

      assert Enum.count(lines, &(&1 =~ " = attention ")) == 1,
             "seed #{seed}: #{Enum.join(lines, "\n")}"

      refute Enum.any?(lines, &(&1 =~ " = dot ")), "seed #{seed}: #{Enum.join(lines, "\n")}"
    end
  end

  defp as_type(t, type),
    do: Nx.with_default_backend(Nx.BinaryBackend, fn -> Nx.as_type(t, type) end)

  test "in a loop" do
    t = normal([2, 5, 4])

    rounds = fn t ->
      Enum.reduce(1..3, t, fn _, t -> NxVulkanGo.attention(t, t, t, causal: true) end)
    end

    expected = Nx.to_flat_list(Nx.Defn.jit_apply(rounds, [t], compiler: Evaluator))
    n = Nx.tensor(3, backend: Nx.BinaryBackend)
    close!(expected, Nx.Defn.jit_apply(&loop/2, [t, n], compiler: NxVulkanGo), 1.0e-5, :loop)
    parts = NxVulkanGo.explain(&loop/2, [t, n], target: :gpu).parts
    assert Enum.any?(parts, &(hd(&1.instructions) =~ " = attention "))
  end

  defn loop(t, n) do
    {_, t, _} =
      while {i = 0, t, n}, i < n do
        {i + 1, NxVulkanGo.attention(t, t, t, causal: true), n}
      end

    t
  end

  test "has the gradient of its operations" do
    for seed <- Enum.take(@seeds, 6) do
      case = drawn(seed)

      wrap = fn fun ->
        fn q, k, v, tensors ->
          {dq, dk, dv} =
            Nx.Defn.grad({q, k, v}, fn {q, k, v} -> Nx.sum(Nx.sin(fun.(q, k, v, tensors))) end)

          Nx.concatenate(Enum.map([dq, dk, dv], &Nx.flatten/1))
        end
      end

      expected = attend(case, Evaluator, wrap)
      close!(Nx.to_flat_list(expected), attend(case, NxVulkanGo, wrap), 1.0e-4, seed)

      # By differences, in the direction of the query's first element.
      {fun, args} = function(case)
      sum = fn q -> Nx.sum(Nx.sin(apply(fun, [q | tl(args)]))) |> Nx.to_number() end

      step = fn d ->
        Nx.with_default_backend(Nx.BinaryBackend, fn ->
          ones = Nx.equal(Nx.iota(case.query.shape), 0)
          sum.(Nx.add(case.query, Nx.multiply(ones, d)))
        end)
      end

      assert_in_delta (step.(0.05) - step.(-0.05)) / 0.1, Nx.to_number(expected[0]), 0.02
    end
  end

  test "for each vector of vectorized tensors" do
    [q, k, v] = for n <- [4, 5, 5], do: normal([3, 2, n, 4])
    bias = normal([3, 4, 5])
    fun = fn q, k, v, bias -> NxVulkanGo.attention(q, k, v, bias: bias) end
    whole = fun.(q, k, v, Nx.new_axis(bias, 1))
    each = for t <- [q, k, v, bias], do: Nx.vectorize(t, :x)

    for compiler <- [Evaluator, NxVulkanGo] do
      result = Nx.Defn.jit_apply(fun, each, compiler: compiler)
      assert result.vectorized_axes == [x: 3]
      close!(Nx.to_flat_list(whole), Nx.devectorize(result), 1.0e-5, :vectors)
    end
  end

  test "a query without a key gives NaN" do
    t = Nx.broadcast(Nx.tensor(1.0, backend: Nx.BinaryBackend), {1, 2, 2})
    mask = Nx.tensor([[1, 1], [0, 0]], backend: Nx.BinaryBackend)

    for compiler <- [Evaluator, NxVulkanGo] do
      fun = fn t, mask -> NxVulkanGo.attention(t, t, t, mask: mask) end
      result = Nx.Defn.jit_apply(fun, [t, mask], compiler: compiler)
      assert [1.0, 1.0, :nan, :nan] = Nx.to_flat_list(result)
    end
  end

  test "arguments that do not fit" do
    t = normal([2, 3, 4])
    narrow = normal([2, 3, 3])

    for {args, text} <- [
          {[t, narrow, t], ~r/a multiple of groups, got: {2, 3, 4}, {2, 3, 3}/},
          {[t, t, normal([3, 3, 4])], ~r/multiple of groups/},
          {[normal([3, 4]), t, t], ~r/query of at least three dimensions/},
          {[t, t, t, [mask: normal([3, 4])]],
           ~r/mask that broadcasts to the scores {2, 3, 3}, got: {3, 4}/},
          {[t, t, t, [scale: t]], ~r/a number as :scale/},
          {[as_type(t, :s32), t, t], ~r/tensors of floats/}
        ] do
      assert_raise ArgumentError, text, fn ->
        apply(&NxVulkanGo.attention/4, args ++ List.duplicate([], 4 - length(args)))
      end
    end

    assert_raise ArgumentError, ~r/unknown keys \[:window\]/, fn ->
      NxVulkanGo.attention(t, t, t, window: 3)
    end
  end
end
