{nx, _} = Code.eval_file("nx.exs", __DIR__)

%{
  "nx/vectorize_test" => %{
    "a hook gets a tensor that is vectorized as in the function, as by EXLA" => [
      "cond if with container result"
    ]
  },
  "nx/lin_alg_test" => %{
    "last digits: results within the tolerance of the table, not those of the loop that printed the expectation" =>
      [
        "doctest Nx.LinAlg.least_squares/3 (106)",
        "doctest Nx.LinAlg.least_squares/3 (107)",
        "doctest Nx.LinAlg.least_squares/3 (108)",
        "doctest Nx.LinAlg.matrix_power/2 (87)",
        "doctest Nx.LinAlg.pinv/2 (67)",
        "qr factors a square matrix"
      ],
    {:maybe,
     "the vector of a singular value of zero is what Nx's own algorithm leaves of rounding"} => [
      "svd finds the singular values of tall matrices"
    ],
    {:maybe,
     "last digits: results within the tolerance of the table, not those of the loop that printed the expectation"} =>
      [
        "doctest Nx.LinAlg.cholesky/1 (5)",
        "doctest Nx.LinAlg.determinant/1 (93)",
        "doctest Nx.LinAlg.determinant/1 (94)",
        "doctest Nx.LinAlg.determinant/1 (95)",
        "doctest Nx.LinAlg.lu/1 (79)",
        "doctest Nx.LinAlg.matrix_power/2 (85)",
        "doctest Nx.LinAlg.pinv/2 (68)",
        "doctest Nx.LinAlg.solve/2 (43)",
        "doctest Nx.LinAlg.solve/2 (46)"
      ]
  },
  # Compiled or not, they are the same numbers.
  "nx/random_test" => Map.fetch!(nx, "nx/random_test"),
  # Compiled, the tests of captured tensors pass.
  "nx/defn/grad_test" =>
    Map.delete(
      Map.fetch!(nx, "nx/defn/grad_test"),
      "Nx.Defn.grad/2 lifts captured tensors of Nx.BinaryBackend alone"
    ),
  "nx/defn/evaluator_test" => %{
    {:maybe,
     "last digits: results within the tolerance of the table, not those of the loop that printed the expectation"} =>
      [
        "decompositions qr"
      ],
    {:maybe, "zeros have another sign where a device adds in another order"} => [
      "decompositions svd"
    ]
  }
}
