# The models of inference.exs in plain Axon.

defmodule Inference.Plain do
  @doc "Builds a model of a kind, and the shapes of its inputs."
  def build(kind, s) when kind in ["lstm", "gru"] do
    x = Axon.input("x", shape: {nil, s.length, s.features})

    {sequence, _} =
      if kind == "lstm", do: Axon.lstm(x, s.hidden), else: Axon.gru(x, s.hidden)

    model = sequence |> Axon.nx(& &1[[.., -1, ..]]) |> Axon.dense(s.classes)
    {model, %{"x" => {{s.batch, s.length, s.features}, :f32, nil}}}
  end

  def build("mixer", s) do
    tokens = div(s.image, s.patch) ** 2
    swapped = fn x -> Axon.nx(x, &Nx.transpose(&1, axes: [0, 2, 1])) end

    x =
      image(s)
      |> Axon.conv(s.hidden, kernel_size: s.patch, strides: s.patch)
      |> Axon.reshape({:batch, tokens, s.hidden})

    x =
      Enum.reduce(1..s.layers, x, fn _, x ->
        across = x |> Axon.layer_norm() |> then(swapped) |> mlp(s.across, tokens) |> then(swapped)
        x = Axon.add(x, across)
        Axon.add(x, x |> Axon.layer_norm() |> mlp(s.intermediate, s.hidden))
      end)

    {x |> Axon.layer_norm() |> Axon.nx(&Nx.mean(&1, axes: [1])) |> Axon.dense(1000), pixels(s)}
  end

  def build("segment", s) do
    {widths, [bottom]} = Enum.split(s.widths, -1)

    {x, skips} =
      Enum.reduce(widths, {image(s), []}, fn width, {x, skips} ->
        x = convolutions(x, width)
        {Axon.max_pool(x, kernel_size: 2), [{x, width} | skips]}
      end)

    x =
      Enum.reduce(skips, convolutions(x, bottom), fn {skip, width}, x ->
        x
        |> Axon.conv_transpose(width, kernel_size: 2, strides: 2)
        |> Axon.concatenate(skip)
        |> convolutions(width)
      end)

    {Axon.conv(x, 2, kernel_size: 1), pixels(s)}
  end

  # Depthwise filters of 3×3 and pointwise ones; each second time the width grows, or the first,
  # the image shrinks.
  def build("mobilenet", s) do
    [stem | widths] = s.widths
    x = image(s) |> Axon.conv(stem, kernel_size: 3, strides: 2, padding: :same) |> normed()

    {x, _} =
      Enum.reduce(widths, {x, stem}, fn width, {x, before} ->
        strides = if width > before, do: 2, else: 1

        x =
          x
          |> Axon.depthwise_conv(1, kernel_size: 3, strides: strides, padding: :same)
          |> normed()
          |> Axon.conv(width, kernel_size: 1)
          |> normed()

        {x, width}
      end)

    {x |> Axon.global_avg_pool() |> Axon.dense(1000), pixels(s)}
  end

  # Embeddings and dense features, their products with each other, and a perceptron (Naumov et al. 2019).
  def build("dlrm", s) do
    dense =
      Enum.reduce(s.bottom ++ [s.embedding], Axon.input("dense", shape: {nil, s.dense}), fn n,
                                                                                            x ->
        Axon.dense(x, n, activation: :relu)
      end)

    tables =
      for i <- 1..s.tables do
        Axon.input("sparse_#{i}", shape: {nil}) |> Axon.embedding(s.rows, s.embedding)
      end

    features = tables |> Enum.map(&Axon.nx(&1, fn x -> Nx.new_axis(x, 1) end))
    rows = Axon.concatenate([Axon.nx(dense, &Nx.new_axis(&1, 1)) | features], axis: 1)

    products =
      rows
      |> Axon.nx(&Nx.dot(&1, [2], [0], &1, [2], [0]))
      |> Axon.reshape({:batch, (s.tables + 1) ** 2})

    model =
      Enum.reduce(s.top, Axon.concatenate(dense, products), fn n, x ->
        Axon.dense(x, n, activation: :relu)
      end)

    inputs = for i <- 1..s.tables, into: %{}, do: {"sparse_#{i}", {{s.batch}, :s64, s.rows}}
    {Axon.dense(model, 1), Map.put(inputs, "dense", {{s.batch, s.dense}, :f32, nil})}
  end

  defp image(s), do: Axon.input("pixel_values", shape: {nil, s.image, s.image, 3})

  defp pixels(s), do: %{"pixel_values" => {{s.batch, s.image, s.image, 3}, :f32, nil}}

  defp mlp(x, inner, outer), do: x |> Axon.dense(inner, activation: :gelu) |> Axon.dense(outer)

  defp convolutions(x, width) do
    Enum.reduce(1..2, x, fn _, x ->
      x |> Axon.conv(width, kernel_size: 3, padding: :same) |> normed()
    end)
  end

  defp normed(x), do: x |> Axon.batch_norm() |> Axon.relu()
end
