captured = "Nx lifts captured tensors of Nx.BinaryBackend alone into a numerical definition"

%{
  "nx_test" => %{
    "the error depends on values and is raised where the result is read" => [
      "gather raises when out of bounds",
      "indexed_add raises when out of bounds",
      "indexed_put raises when out of bounds"
    ],
    {:maybe,
     "last digits: results within the tolerance of the table, not those of the loop that printed the expectation"} =>
      [
        "covariance/1 calculates the covariance of a tensor",
        "covariance/1 uses optional ddof",
        "covariance/1 with tensor batch",
        "fft/ifft Bluestein clause",
        "standard_deviation/1 uses optional axes",
        "variance/1 uses optional axes"
      ]
  },
  "nx/non_finite_test" => %{
    "the remainder of an infinity is NaN, where Nx.BinaryBackend asks libc and raises" => [
      "binary operations remainder"
    ]
  },
  "nx/lin_alg_test" => %{
    "last digits: results within the tolerance of the table, not those of the loop that printed the expectation" =>
      [
        "doctest Nx.LinAlg.cholesky/1 (3)",
        "doctest Nx.LinAlg.cholesky/1 (4)",
        "doctest Nx.LinAlg.cholesky/1 (5)",
        "doctest Nx.LinAlg.cholesky/1 (7)",
        "doctest Nx.LinAlg.determinant/1 (100)",
        "doctest Nx.LinAlg.eigh/2 (71)",
        "doctest Nx.LinAlg.eigh/2 (72)",
        "doctest Nx.LinAlg.least_squares/3 (106)",
        "doctest Nx.LinAlg.least_squares/3 (107)",
        "doctest Nx.LinAlg.least_squares/3 (108)",
        "doctest Nx.LinAlg.lu/1 (77)",
        "doctest Nx.LinAlg.lu/1 (79)",
        "doctest Nx.LinAlg.lu/1 (80)",
        "doctest Nx.LinAlg.matrix_power/2 (87)",
        "doctest Nx.LinAlg.pinv/2 (67)",
        "doctest Nx.LinAlg.qr/2 (58)",
        "doctest Nx.LinAlg.solve/2 (43)",
        "doctest Nx.LinAlg.solve/2 (46)",
        "doctest Nx.LinAlg.svd/2 (75)",
        "eigh computes eigenvalues and eigenvectors for a Hermitian matrix case"
      ],
    "the error depends on values and is raised where the result is read" => [
      "doctest Nx.LinAlg.triangular_solve/3 (40)"
    ],
    "factors are not unique: the expectation is one of several that are right" => [
      "doctest Nx.LinAlg.eigh/2 (70)"
    ],
    {:maybe, "factors are not unique: Nx 0.13 expected one of several that are right"} => [
      "svd finds the singular values of tall matrices"
    ],
    {:maybe,
     "last digits: results within the tolerance of the table, not those of the loop that printed the expectation"} =>
      [
        "doctest Nx.LinAlg.determinant/1 (93)",
        "doctest Nx.LinAlg.determinant/1 (94)",
        "doctest Nx.LinAlg.determinant/1 (95)",
        "doctest Nx.LinAlg.matrix_power/2 (85)",
        "doctest Nx.LinAlg.pinv/2 (68)",
        "doctest Nx.LinAlg.triangular_solve/3 (26)",
        "doctest Nx.LinAlg.triangular_solve/3 (29)"
      ],
    {:maybe, "zeros have another sign where a device adds in another order"} => [
      "doctest Nx.LinAlg.svd/2 (74)",
      "doctest Nx.LinAlg.svd/2 (76)",
      "qr factors a square matrix"
    ]
  },
  "nx/random_test" => %{
    "last digits: results within the tolerance of the table, not those of the loop that printed the expectation" =>
      [
        "doctest Nx.Random.multivariate_normal/4 (21)",
        "doctest Nx.Random.multivariate_normal/4 (23)",
        "doctest Nx.Random.normal/4 (16)",
        "doctest Nx.Random.normal/4 (18)",
        "types multivariate_normal",
        "types normal"
      ],
    {:maybe,
     "last digits: results within the tolerance of the table, not those of the loop that printed the expectation"} =>
      [
        "doctest Nx.Random.gumbel/2 (31)",
        "doctest Nx.Random.normal/4 (19)"
      ]
  },
  "nx/complex_test" => %{
    "the error depends on values and is raised where the result is read" => [
      "LinAlg not yet implemented triangular_solve fails with singular complex matrix"
    ]
  },
  "nx/defn/grad_test" => %{
    "Nx.Defn.grad/2 lifts captured tensors of Nx.BinaryBackend alone" => [
      "conv rule computes gradient of kernel when image is a constant closure variable",
      "vectorization composed: sigmoid(x @ w + b) (exercises composed chain with captures)",
      "vectorization conv with vectorized (exercises conv grad)",
      "vectorization dot with captured matrix (exercises concrete tensor handling)",
      "vectorization grad of non-vectorized target with vectorized capture",
      "vectorization mixed: vectorized x * non-vectorized y (exercises broadcast_vectors)",
      "vectorization non-vectorized input, vectorized output",
      "vectorization supports combination of vectorized and non-vectorized tensors",
      "vectorization supports combination of vectorized and non-vectorized tensors over composed function",
      "vectorization vectorized grad through Nx.LinAlg.triangular_solve with captured a",
      "vectorization window_scatter_max/min with vectorized inputs"
    ],
    "the structs of tensors are compared, not what they hold" => [
      "metadata computes custom grad"
    ],
    {:maybe, "#{captured}; newer than Nx 0.13.1"} => [
      "multi-tensor ops with captured closure tensors clip grad wrt min and max with a captured target",
      "multi-tensor ops with captured closure tensors put_slice grad wrt the update with a captured target",
      "multi-tensor ops with captured closure tensors reduce and window_reduce raise their documented no-grad error, not a dispatch crash",
      "solve computes the grad when the right-hand side is a constant"
    ],
    {:maybe,
     "factors have two signs: the gradient has those of Nx's own algorithm, the difference that it is compared with those of the device"} =>
      [
        "svd computes grad for wide tensor"
      ],
    {:maybe,
     "last digits: results within the tolerance of the table, not those of the loop that printed the expectation"} =>
      [
        "cholesky computes grad for composed {2,2}-tensor",
        "concatenate computes grad for powers of a {2, 2}-tensor",
        "gather computes gradient",
        "pad computes with pad value from tensor",
        "reverse computes gradient",
        "take computes gradient",
        "window_scatter_min/max grad_composed_window_scatter_max",
        "window_scatter_min/max grad_composed_window_scatter_min"
      ]
  },
  "nx/defn_test" => %{
    {:maybe, "#{captured}; newer than Nx 0.13.1"} => [
      "block accepts a constant tensor argument",
      "multi-tensor ops with captured closure tensors clip in a jit closure over a concrete target",
      "multi-tensor ops with captured closure tensors gather in a jit closure over a concrete source",
      "multi-tensor ops with captured closure tensors put_slice in a jit closure over a concrete target"
    ]
  },
  "nx/defn/evaluator_test" => %{
    "the message is the one of Nx.BinaryBackend as the default backend" => [
      "slice"
    ],
    {:maybe,
     "last digits: results within the tolerance of the table, not those of the loop that printed the expectation"} =>
      [
        "decompositions qr"
      ],
    {:maybe, "zeros have another sign where a device adds in another order"} => [
      "decompositions svd"
    ]
  },
  "nx/serving_test" => %{
    "the structs of tensors are compared, not what they hold" => [
      "run/2 with client pre/post"
    ],
    {:maybe,
     "a tensor that is sent to another node lives until its sender lets go, and the sender waits for nothing"} =>
      [
        "distributed spawns distributed tasks over the network",
        "distributed spawns distributed tasks over the network with different weights",
        "distributed spawns distributed tasks over the network with hidden nodes",
        "distributed spawns distributed tasks over the network with streaming"
      ]
  }
}
