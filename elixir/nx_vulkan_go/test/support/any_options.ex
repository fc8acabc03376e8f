defmodule NxVulkanGo.AnyOptions do
  @moduledoc false
  # Random calls of the functions of Nx that take options: tensors of any rank, names
  # and vectorized axes, and any combination of the options that there are. A call is
  # `{text, tensors, fun}`. The elements are small whole numbers, so that sums and
  # products are exact in any order.

  import NxVulkanGo.AnyOptions.Draw
  alias NxVulkanGo.AnyOptions.Reductions

  @types types()
  @real real_types()
  @names names()

  @doc "The names of the functions."
  def functions, do: all() |> Map.keys() |> Enum.sort()

  @doc "A random call of a function."
  def call(name) do
    {tensors, options, fun} = Map.fetch!(all(), name).()
    options = for {key, value} <- options, value != :absent, do: {key, value}
    text = "#{name} #{inspect(options)} of #{inspect(Enum.map(tensors, &describe/1))}"
    {text, tensors, fn args -> fun.(args, options) end}
  end

  @doc """
  What the function gives for the tensors on a backend, as `{:ok, tensors}` of
  `Nx.BinaryBackend`, or `{:error, exception}`.
  """
  def results(backend, tensors, fun) do
    Nx.with_default_backend(backend, fn ->
      tensors = Enum.map(tensors, &Nx.backend_copy(&1, backend))

      {:ok,
       [fun.(tensors)]
       |> Nx.Defn.Composite.flatten_list()
       |> Enum.map(&Nx.backend_copy(&1, Nx.BinaryBackend))}
    end)
  rescue
    error -> {:error, error}
  end

  @doc """
  Whether a tensor has as many elements as its shape says. `Nx.BinaryBackend` gives fewer
  for a window that does not fit.
  """
  def whole?(t) do
    bit_size(Nx.to_binary(t)) == Nx.bit_size(t)
  rescue
    MatchError -> false
  end

  defp describe(t), do: {t.type, t.shape, t.names, t.vectorized_axes}

  ## The functions

  defp all, do: Map.merge(Reductions.rows(), others())

  defp others do
    %{
      median: fn ->
        t = shape() |> tensor(@real)
        {[t], [axis: maybe([axis(t)]), keep_axis: flag()], fn [t], o -> Nx.median(t, o) end}
      end,
      mode: fn ->
        t = 1..3 |> shape() |> tensor(@real)
        {[t], [axis: maybe([axis(t)]), keep_axis: flag()], fn [t], o -> Nx.mode(t, o) end}
      end,
      weighted_mean: fn ->
        t = 1..3 |> shape() |> tensor(s: 32, f: 32, f: 64)
        w = host(fn -> Nx.add(Nx.abs(t), 1) end)

        {[t, w], [axes: maybe([nil, axes(t)]), keep_axes: flag()],
         fn [t, w], o -> Nx.weighted_mean(t, w, o) end}
      end,
      reduce: fn ->
        t = shape() |> tensor(s: 32, f: 32, f: 64)

        options = [
          axes: maybe([nil, axes(t)]),
          keep_axes: flag(),
          type: maybe([{:s, 64}, {:f, 64}])
        ]

        {[t], options, fn [t], o -> Nx.reduce(t, 1, o, &Nx.add/2) end}
      end,
      window_reduce: fn ->
        Reductions.windowed(fn t, window, o -> Nx.window_reduce(t, 1, window, o, &Nx.max/2) end)
      end,
      window_scatter_max: fn -> scattered(&Nx.window_scatter_max/5) end,
      window_scatter_min: fn -> scattered(&Nx.window_scatter_min/5) end,
      sort: fn ->
        t = 1..3 |> shape() |> tensor(@real) |> vectorized()

        {[t], [axis: maybe([axis(t)]), direction: maybe([:asc, :desc]), stable: flag()],
         fn [t], o -> Nx.sort(t, o) end}
      end,
      argsort: fn ->
        t = 1..3 |> shape() |> tensor(@real) |> vectorized()

        options = [
          axis: maybe([axis(t)]),
          direction: maybe([:asc, :desc]),
          stable: true,
          type: maybe([{:u, 32}])
        ]

        {[t], options, fn [t], o -> Nx.argsort(t, o) end}
      end,
      top_k: fn ->
        dims = shape(1..3)
        t = tensor(dims, @real)
        {[t], [k: maybe([1, List.last(dims)])], fn [t], o -> elem(Nx.top_k(t, o), 0) end}
      end,
      concatenate: fn -> joined(&Nx.concatenate/2) end,
      stack: fn -> joined(&Nx.stack/2) end,
      reverse: fn ->
        t = shape() |> tensor() |> vectorized()
        {[t], [axes: maybe([axes(t)])], fn [t], o -> Nx.reverse(t, o) end}
      end,
      transpose: fn ->
        t = shape() |> tensor()
        order = Enum.shuffle(Enum.to_list(0..(tuple_size(t.shape) - 1)//1))
        {[t], [axes: maybe([order])], fn [t], o -> Nx.transpose(t, o) end}
      end,
      squeeze: fn ->
        t = shape() |> tensor() |> vectorized()
        ones = for {1, i} <- Enum.with_index(Tuple.to_list(t.shape)), do: i
        {[t], [axes: maybe([Enum.take_random(ones, 2)])], fn [t], o -> Nx.squeeze(t, o) end}
      end,
      broadcast: fn ->
        dims = shape(0..3)
        t = tensor(dims)
        into = dims ++ [2]

        {[t],
         [
           axes: Enum.to_list(0..(length(dims) - 1)//1),
           names: maybe([List.duplicate(nil, length(into))])
         ], fn [t], o -> Nx.broadcast(t, List.to_tuple(into), o) end}
      end,
      new_axis: fn ->
        t = shape(0..3) |> tensor()

        {[t], [name: maybe([nil, :new])],
         fn [t], o -> Nx.new_axis(t, one_of(o, t), Keyword.get(o, :name)) end}
      end,
      pad: fn ->
        dims = shape()
        t = tensor(dims) |> vectorized()
        config = for _ <- 1..tuple_size(t.shape)//1, do: {one(-1..2), one(-1..2), one(0..2)}
        {[t], [], fn [t], _ -> Nx.pad(t, 1, config) end}
      end,
      slice_along_axis: fn ->
        t = 1..3 |> shape() |> tensor() |> vectorized()
        axis = axis(t)
        size = elem(t.shape, Nx.axis_index(t, axis))
        length = one(1..size)

        {[t], [axis: axis, strides: maybe([1, 2])],
         fn [t], o -> Nx.slice_along_axis(t, size - length, length, o) end}
      end,
      slice: fn ->
        dims = shape(1..3)
        t = tensor(dims)
        lengths = for d <- dims, do: one(1..d)
        starts = for d <- dims, do: one(-1..d)

        {[t], [strides: each(length(dims), 1..2)],
         fn [t], o -> Nx.slice(t, starts, lengths, o) end}
      end,
      take: fn ->
        t = 1..3 |> shape() |> tensor()
        axis = axis(t)

        {[t, indices(one(1..4), elem(t.shape, Nx.axis_index(t, axis)))], [axis: axis],
         fn [t, i], o -> Nx.take(t, i, o) end}
      end,
      gather: fn ->
        t = 1..3 |> shape() |> tensor()
        axes = t |> axes() |> Enum.map(&Nx.axis_index(t, &1)) |> Enum.sort()
        axes = if axes == [], do: [0], else: axes

        at =
          host(fn ->
            for(a <- axes, do: indices(3, elem(t.shape, a)))
            |> Enum.map(&Nx.as_type(&1, :s32))
            |> Nx.stack(axis: 1)
          end)

        {[t, at], [axes: axes], fn [t, at], o -> Nx.gather(t, at, o) end}
      end,
      indexed_add: fn -> indexed(&Nx.indexed_add/4) end,
      indexed_put: fn -> indexed(&Nx.indexed_put/4) end,
      dot: fn ->
        [b, m, k, n] = for _ <- 1..4, do: one(1..3)

        if one([true, false]) do
          {[tensor([b, m, k]), tensor([b, k, n])] |> unnamed(), [],
           fn [l, r], _ -> Nx.dot(l, [2], [0], r, [1], [0]) end}
        else
          {[tensor([k, m]), tensor([n, k])] |> unnamed(), [],
           fn [l, r], _ -> Nx.dot(l, [-2], r, [-1]) end}
        end
      end,
      conv: fn ->
        t = tensor([2, 4, one(3..5), one(3..5)], f: 32, s: 32)
        groups = one([1, 2])
        kernel = tensor([4, div(4, groups), one(1..2), one(1..2)], f: 32)
        pads = maybe([:valid, :same, [{one(0..2), 1}, {0, one(0..2)}]])

        options = [
          strides: each(2, 1..2),
          padding: pads,
          input_dilation: each(2, 1..2),
          kernel_dilation: each(2, 1..2),
          feature_group_size: groups
        ]

        {unnamed([t, kernel]), options, fn [t, k], o -> Nx.conv(t, k, o) end}
      end,
      fft: fn -> transformed(&Nx.fft/2) end,
      ifft: fn -> transformed(&Nx.ifft/2) end,
      diff: fn ->
        t = 1..3 |> shape() |> tensor(@real -- [u: 8])
        {[t], [axis: maybe([axis(t)]), order: maybe([1])], fn [t], o -> Nx.diff(t, o) end}
      end,
      covariance: fn ->
        {unnamed([tensor([one(2..4), one(1..3)], f: 32, f: 64)]), [ddof: maybe([0, 1])],
         fn [t], o -> Nx.covariance(t, o) end}
      end,
      tril: fn -> triangle(&Nx.tril/2) end,
      triu: fn -> triangle(&Nx.triu/2) end,
      tri: fn ->
        {[], [k: maybe([-1, 0, 1]), type: maybe([{:f, 32}])], fn [], o -> Nx.tri(3, 4, o) end}
      end,
      iota: fn ->
        dims = shape(1..3)

        options = [
          axis: maybe([nil, length(dims) - 1, -1]),
          type: maybe(@types),
          names: maybe([Enum.take(@names, length(dims))]),
          vectorized_axes: maybe([[v: 2]])
        ]

        {[], options, fn [], o -> Nx.iota(List.to_tuple(dims), o) end}
      end,
      eye: fn ->
        {[], [type: maybe(@types), vectorized_axes: maybe([[v: 2]])],
         fn [], o -> Nx.eye({3, 4}, o) end}
      end,
      linspace: fn ->
        {[], [n: one(2..5), type: maybe([{:f, 64}]), endpoint: flag(), name: maybe([:a])],
         fn [], o -> Nx.linspace(0, 4, o) end}
      end,
      make_diagonal: fn ->
        {unnamed([tensor([3])]), [offset: maybe([-1, 0, 2])],
         fn [t], o -> Nx.make_diagonal(t, o) end}
      end,
      take_diagonal: fn ->
        {unnamed([tensor([3, 4])]), [offset: maybe([-1, 0, 2])],
         fn [t], o -> Nx.take_diagonal(t, o) end}
      end,
      put_diagonal: fn ->
        {unnamed([tensor([3, 3], s: 32), tensor([2], s: 32)]), [offset: one([-1, 1])],
         fn [t, d], o -> Nx.put_diagonal(t, d, o) end}
      end,
      split: fn ->
        t = tensor([4, one(1..3)]) |> List.wrap() |> unnamed() |> hd()
        {[t], [axis: maybe([0, -2])], fn [t], o -> Nx.split(t, one([2, 0.5]), o) end}
      end,
      tile: fn ->
        t = shape(0..2) |> tensor()
        {[t], [], fn [t], _ -> Nx.tile(t, [2, 1, 2]) end}
      end,
      all_close: fn ->
        t = shape() |> tensor(@types)

        {[t, t], [equal_nan: flag(), atol: maybe([0.5])],
         fn [a, b], o -> Nx.all_close(a, b, o) end}
      end,
      norm: fn ->
        t = 1..2 |> shape() |> tensor(f: 32, f: 64)

        {[t], [axes: maybe([[0]]), keep_axes: flag(), ord: maybe([1, :inf, :neg_inf])],
         fn [t], o -> Nx.LinAlg.norm(t, o) end}
      end
    }
  end

  defp one_of(_options, t), do: -1 - rem(tuple_size(t.shape), 2)

  defp unnamed(list),
    do: host(fn -> for t <- list, do: Nx.rename(t, List.duplicate(nil, tuple_size(t.shape))) end)

  defp joined(fun) do
    dims = shape(1..3)
    [t | _] = list = unnamed(for _ <- 1..one(1..3), do: tensor(dims))
    {list, [axis: maybe([one(-1..0)])], fn list, o -> fun.(if(t, do: list), o) end}
  end

  defp scattered(fun) do
    # All elements differ, so that there are no ties.
    t =
      host(fn ->
        1..24
        |> Enum.shuffle()
        |> Nx.tensor(type: one([{:s, 32}, {:f, 32}]))
        |> Nx.reshape({4, 6})
      end)

    {[t, hd(unnamed([tensor([2, 2], s: 32)]))], [strides: [2, 3], padding: maybe([:valid])],
     fn [t, s], o -> fun.(t, s, 0, {2, 3}, o) end}
  end

  defp indexed(fun) do
    [t] = unnamed([tensor([one(1..4), one(1..4)], s: 32, f: 32)])
    axes = one([[0], [1], [0, 1]])
    sizes = for a <- [0, 1] -- axes, do: elem(t.shape, a)
    # Each place once: of several writes to one the order is nobody's.
    at = host(fn -> Nx.tensor([for(_ <- axes, do: 0)]) end)

    {[t, at, hd(unnamed([tensor([1 | sizes], s: 32)]))],
     [axes: if(axes == [1], do: axes, else: maybe([axes]))],
     fn [t, at, u], o ->
       fun.(t, at, u, o)
     end}
  end

  defp transformed(fun) do
    [t] = unnamed([tensor([one(1..3), one(2..6)], f: 32, f: 64, c: 64, s: 32)])

    {[t], [axis: maybe([0, -1]), length: maybe([:power_of_two, one(1..7)])],
     fn [t], o -> fun.(t, o) end}
  end

  defp triangle(fun) do
    t = shape(2..3) |> tensor() |> vectorized()
    {[t], [k: maybe([-1, 0, 1])], fn [t], o -> fun.(t, o) end}
  end
end
