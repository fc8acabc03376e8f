defmodule NxVulkanGo.AnyOptions.Reductions do
  @moduledoc false
  # The functions that reduce: whole axes, the places of extremes, running totals and windows.

  import NxVulkanGo.AnyOptions.Draw

  @types types()
  @real real_types()

  @doc "A map from the name of a function to what draws a call."
  def rows do
    folds =
      [:sum, :product, :all, :any, :reduce_max, :reduce_min, :mean, :variance] ++
        [:standard_deviation, :logsumexp]

    folded =
      for name <- folds, into: %{} do
        {name,
         fn ->
           t =
             shape()
             |> tensor(if(name in [:sum, :product, :mean], do: @types, else: @real))
             |> vectorized()

           ddof = if name in [:variance, :standard_deviation], do: maybe([0]), else: :absent

           {[t], [axes: maybe([nil, axes(t)]), keep_axes: flag(), ddof: ddof],
            fn [t], o -> apply(Nx, name, [t, o]) end}
         end}
      end

    args =
      for name <- [:argmax, :argmin], into: %{} do
        {name,
         fn ->
           t = shape() |> tensor(@real) |> vectorized()

           axis = maybe([nil, axis(t)])
           # Nx.BinaryBackend takes the wrong axis then; any_options_test.exs has a test.
           wrong = t.vectorized_axes != [] and axis in [nil, :absent]

           options = [
             axis: axis,
             keep_axis: if(wrong, do: :absent, else: flag()),
             tie_break: maybe([:low, :high]),
             type: maybe([:u8, :s64])
           ]

           {[t], options, fn [t], o -> apply(Nx, name, [t, o]) end}
         end}
      end

    running =
      for name <- [:cumulative_sum, :cumulative_product, :cumulative_min, :cumulative_max],
          into: %{} do
        {name,
         fn ->
           t = 1..3 |> shape() |> tensor(@real -- [bf: 16]) |> vectorized()

           {[t], [axis: maybe([axis(t)]), reverse: flag()],
            fn [t], o -> apply(Nx, name, [t, o]) end}
         end}
      end

    windows =
      for name <- [:window_sum, :window_max, :window_min, :window_product, :window_mean],
          into: %{} do
        {name, fn -> windowed(fn t, window, o -> apply(Nx, name, [t, window, o]) end) end}
      end

    Enum.reduce([folded, args, running, windows], &Map.merge/2)
  end

  @doc "A call of a function that reduces windows."
  def windowed(fun) do
    dims = shape(1..3)
    # bf16 rounds a sum at other places in another order.
    t = tensor(dims, @real -- [bf: 16])
    window = for d <- dims, do: one(1..d)
    rank = length(dims)

    options = [
      padding: padding(rank),
      strides: each(rank, 1..3),
      window_dilations: each(rank, 1..2)
    ]

    {[t], options, fn [t], o -> fun.(t, List.to_tuple(window), o) end}
  end
end
