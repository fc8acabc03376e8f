defmodule Suites.ScholarNumbersTest do
  # Estimators of Scholar beside Nx.BinaryBackend, of data of a size that devices compute.
  use ExUnit.Case, async: false

  import Suites.Numbers
  alias Scholar.Cluster.KMeans
  alias Scholar.Decomposition.PCA
  alias Scholar.Linear.LinearRegression

  # 3000 points around three centres in the plane, on Nx.BinaryBackend.
  defp points do
    on({Nx.BinaryBackend, Nx.Defn.Evaluator}, fn ->
      {noise, _} = Nx.Random.normal(Nx.Random.key(3), 0.0, 0.5, shape: {3, 1000, 2})
      centres = Nx.tensor([[[-4.0, 0.0]], [[3.0, 5.0]], [[5.0, -6.0]]])
      noise |> Nx.add(centres) |> Nx.reshape({3000, 2})
    end)
  end

  # Points of four coordinates and the values of a linear function there, with noise.
  defp line do
    on({Nx.BinaryBackend, Nx.Defn.Evaluator}, fn ->
      {x, key} = Nx.Random.uniform(Nx.Random.key(5), -1.0, 1.0, shape: {2048, 4})
      {noise, _} = Nx.Random.normal(key, 0.0, 0.01, shape: {2048})
      {x, x |> Nx.dot(Nx.tensor([0.5, -0.75, 0.25, 1.0])) |> Nx.add(noise) |> Nx.add(0.7)}
    end)
  end

  for compiler <- [Nx.Defn.Evaluator, NxVulkanGo] do
    test "linear regression by #{inspect(compiler)}" do
      {expected, actual} =
        both(unquote(compiler), line(), fn {x, y} ->
          model = Nx.Defn.jit_apply(&LinearRegression.fit(&1, &2), [x, y])
          Nx.to_flat_list(model.coefficients) ++ [Nx.to_number(model.intercept)]
        end)

      for {e, a} <- Enum.zip(expected, actual), do: assert_in_delta(e, a, 2.0e-6)
      assert_in_delta List.first(actual), 0.5, 0.01
    end

    test "k-means by #{inspect(compiler)}" do
      {{expected, labels}, {actual, same}} =
        both(unquote(compiler), points(), fn x ->
          fit = &KMeans.fit(&1, num_clusters: 3, num_runs: 1, key: &2)
          model = Nx.Defn.jit_apply(fit, [x, Nx.Random.key(1)])
          {Nx.to_flat_list(model.clusters), Nx.to_flat_list(model.labels)}
        end)

      assert labels == same
      assert Enum.sort(Enum.uniq(labels)) == [0, 1, 2]
      for {e, a} <- Enum.zip(expected, actual), do: assert_in_delta(e, a, 2.0e-6)
    end

    test "principal components by #{inspect(compiler)}" do
      {expected, actual} =
        both(unquote(compiler), points(), fn x ->
          model = Nx.Defn.jit_apply(&PCA.fit(&1, num_components: 2), [x])
          # The sign of a component is free; that of its largest part is taken.
          parts = for row <- Nx.to_list(model.components), do: upright(row)
          List.flatten(parts) ++ Nx.to_flat_list(model.explained_variance_ratio)
        end)

      for {e, a} <- Enum.zip(expected, actual), do: assert_in_delta(e, a, 2.0e-6)
    end
  end

  defp upright(row) do
    largest = Enum.max_by(row, &abs/1)
    for part <- row, do: if(largest < 0, do: -part, else: part)
  end
end
