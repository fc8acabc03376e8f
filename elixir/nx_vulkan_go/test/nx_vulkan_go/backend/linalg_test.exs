defmodule NxVulkanGo.Backend.LinalgTest do
  # What factors of a matrix must be, whichever of them come: orthonormal, and with
  # a product that is the matrix.
  use ExUnit.Case, async: false

  alias NxVulkanGo.{Error, Oracle}

  @shapes [{1, 1}, {2, 2}, {3, 5}, {5, 3}, {7, 7}, {2, 4, 4}, {2, 3, 4, 2}]
  @squares for shape <- @shapes,
               elem(shape, tuple_size(shape) - 1) == elem(shape, tuple_size(shape) - 2),
               do: shape
  @types [f: 32, f: 64, c: 64, c: 128]
  @reals [f: 32, f: 64]

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    Application.put_env(:nx_vulkan_go, :fallback, :raise)
    on_exit(fn -> Application.put_env(:nx_vulkan_go, :fallback, :silent) end)
  end

  defp random(type, shape),
    do: type |> Oracle.random(shape) |> Nx.backend_copy(NxVulkanGo.Backend)

  defp dot(a, b) do
    batch = Enum.to_list(0..(Nx.rank(a) - 3)//1)
    Nx.dot(a, [-1], batch, b, [-2], batch)
  end

  defp hermitian(a), do: Nx.add(a, Nx.LinAlg.adjoint(a))

  # Diagonal matrices of a shape, with the vectors of `v`.
  defp diagonal(v, m, n) do
    shape = v.shape |> Tuple.delete_at(tuple_size(v.shape) - 1) |> Tuple.to_list()
    Nx.multiply(Nx.eye(List.to_tuple(shape ++ [m, n])), wide(v, n))
  end

  defp wide(v, n) do
    k = Nx.axis_size(v, -1)
    v = Nx.new_axis(v, -2)
    zeros = List.duplicate({0, 0, 0}, Nx.rank(v) - 1)
    if n > k, do: Nx.pad(v, 0, zeros ++ [{0, n - k, 0}]), else: v
  end

  # |x - y| / (|y| n epsilon) is at most 30.
  defp assert_near(x, y) do
    assert x.shape == y.shape
    n = max(Nx.axis_size(y, -1), Nx.axis_size(y, -2))
    far = x |> Nx.subtract(y) |> size()
    limit = 30 * n * epsilon(x.type) * size(y)
    assert far <= limit, "off by #{far}, permitted #{limit}: #{inspect(x)} against #{inspect(y)}"
  end

  defp size(x), do: x |> Nx.abs() |> Nx.pow(2) |> Nx.sum() |> Nx.sqrt() |> Nx.to_number()

  defp epsilon(type) when type in [f: 64, c: 128], do: 2.3e-16
  defp epsilon({_, _}), do: 1.2e-7

  defp assert_orthonormal(q) do
    n = Nx.axis_size(q, -1)
    eye = Nx.broadcast(Nx.eye(n, type: q.type), put_elem(q.shape, tuple_size(q.shape) - 2, n))
    assert_near(dot(Nx.LinAlg.adjoint(q), q), eye)
  end

  test "qr" do
    for type <- @types, shape <- @shapes, mode <- [:reduced, :complete] do
      a = random(type, shape)
      {q, r} = Nx.LinAlg.qr(a, mode: mode)
      assert_orthonormal(q)
      assert_near(dot(q, r), a)
      assert Nx.to_binary(Nx.triu(r)) == Nx.to_binary(r)
    end
  end

  # The loops and the thresholds of Nx are not exact.
  defp assert_close(x, y), do: assert(size(Nx.subtract(x, y)) <= 1.0e-4 * size(y))

  # Results that are determined, or have the signs of Nx.BinaryBackend by convention.
  for {name, fun} <- [
        # The sign of a column is that of a number which rounding may flip.
        qr: quote(do: fn a -> a |> Nx.LinAlg.qr() |> Tuple.to_list() |> Enum.map(&Nx.abs/1) end),
        lu: quote(do: fn a -> a |> Nx.LinAlg.lu() |> Tuple.to_list() end),
        determinant: quote(do: fn a -> [Nx.LinAlg.determinant(a)] end),
        invert: quote(do: fn a -> [Nx.LinAlg.invert(a)] end),
        eigenvalues: quote(do: fn a -> [a |> Nx.LinAlg.eigh() |> elem(0)] end),
        cholesky: quote(do: fn a -> [Nx.LinAlg.cholesky(a)] end)
      ] do
    test "#{name} is that of Nx.BinaryBackend" do
      fun = unquote(fun)

      for type <- @types, shape <- [{1, 1}, {3, 3}, {2, 4, 4}] do
        a = oracle_matrix(unquote(name), type, shape)
        expected = Nx.with_default_backend(Nx.BinaryBackend, fn -> fun.(a) end)
        actual = fun.(Nx.backend_copy(a, NxVulkanGo.Backend))
        for {x, y} <- Enum.zip(actual, expected), do: assert_close(x, y)
      end
    end
  end

  # Symmetric where that is asked for, and with eigenvalues far from each other and 0.
  defp oracle_matrix(name, type, shape) do
    Nx.with_default_backend(Nx.BinaryBackend, fn ->
      a = Oracle.random(type, shape)
      a = if name in [:eigenvalues, :cholesky], do: hermitian(a), else: a
      n = elem(shape, tuple_size(shape) - 1)
      Nx.add(a, Nx.multiply(Nx.make_diagonal(Nx.add(Nx.iota({n}), 1)), 30))
    end)
  end

  test "cholesky" do
    for type <- @types, shape <- @squares do
      x = random(type, shape)
      a = Nx.add(dot(x, Nx.LinAlg.adjoint(x)), Nx.multiply(Nx.eye(Nx.axis_size(x, -1)), 4))
      l = Nx.LinAlg.cholesky(a)
      assert l.type == type
      assert_near(dot(l, Nx.LinAlg.adjoint(l)), a)
      assert Nx.to_binary(Nx.tril(l)) == Nx.to_binary(l)
    end
  end

  test "lu and determinant" do
    for type <- @types, shape <- @squares do
      a = random(type, shape)
      {p, l, u} = Nx.LinAlg.lu(a)
      assert_near(dot(dot(p, l), u), a)
      sign = Nx.LinAlg.determinant(p)
      pivots = u |> Nx.take_diagonal() |> Nx.product(axes: [-1])
      assert_close(Nx.LinAlg.determinant(a), Nx.multiply(sign, pivots))
    end
  end

  test "lu of integers has an integer permutation" do
    {p, l, u} = Nx.LinAlg.lu(Nx.tensor([[1, 2], [3, 4]], type: :s16))
    assert {p.type, l.type, u.type} == {{:s, 16}, {:f, 32}, {:f, 32}}
    assert Nx.to_flat_list(p) == [0, 1, 1, 0]
  end

  test "solve, invert and matrix_power" do
    for type <- @types, n <- [1, 2, 6], batch <- [[], [3]] do
      shape = List.to_tuple(batch ++ [n, n])
      # The greater the diagonal, the better the condition.
      a = Nx.add(random(type, shape), Nx.multiply(Nx.eye(n), 20))
      assert_near(dot(a, Nx.LinAlg.invert(a)), Nx.broadcast(Nx.eye(n, type: type), shape))
      b = random(type, List.to_tuple(batch ++ [n, 2]))
      assert_near(dot(a, Nx.LinAlg.solve(a, b)), b)
      v = random(type, List.to_tuple(batch ++ [n]))
      assert_near(dot(a, Nx.new_axis(Nx.LinAlg.solve(a, v), -1)), Nx.new_axis(v, -1))
      back = dot(Nx.LinAlg.matrix_power(a, -2), Nx.LinAlg.matrix_power(a, 2))
      assert_close(back, Nx.broadcast(Nx.eye(n, type: type), shape))
    end
  end

  test "eigh" do
    for type <- @types, shape <- @squares do
      a = type |> random(shape) |> hermitian()
      n = Nx.axis_size(a, -1)
      {values, vectors} = Nx.LinAlg.eigh(a)
      assert_orthonormal(vectors)
      assert_near(dot(dot(vectors, diagonal(values, n, n)), Nx.LinAlg.adjoint(vectors)), a)
      sizes = Nx.abs(values)
      assert Nx.to_binary(sizes) == Nx.to_binary(Nx.sort(sizes, axis: -1, direction: :desc))
    end
  end

  test "svd" do
    for type <- @reals, shape <- @shapes, full <- [true, false] do
      a = random(type, shape)
      {u, s, vt} = Nx.LinAlg.svd(a, full_matrices?: full)
      assert_orthonormal(u)
      assert_orthonormal(Nx.LinAlg.adjoint(vt))
      s_matrix = diagonal(s, Nx.axis_size(u, -1), Nx.axis_size(vt, -2))
      assert_near(dot(dot(u, s_matrix), vt), a)
      assert Nx.to_binary(s) == Nx.to_binary(Nx.sort(s, axis: -1, direction: :desc))
    end
  end

  test "pinv and least_squares" do
    for type <- @reals, shape <- [{2, 2}, {3, 5}, {5, 3}] do
      a = random(type, shape)
      inverse = Nx.LinAlg.pinv(a)
      assert_close(dot(dot(a, inverse), a), a)
      assert_close(dot(dot(inverse, a), inverse), inverse)
      b = random(type, {elem(shape, 0)})
      assert_close(Nx.LinAlg.least_squares(a, b), Nx.dot(inverse, b))
    end
  end

  test "a pseudo-inverse does not invert rounding errors" do
    a = Nx.dot(random({:f, 32}, {5, 2}), random({:f, 32}, {2, 4}))
    assert_close(dot(dot(a, Nx.LinAlg.pinv(a)), a), a)
    assert size(Nx.LinAlg.pinv(a)) < 1.0e3
  end

  test "vectorized axes are batches" do
    a = random({:f, 32}, {3, 4, 4})
    {q, r} = Nx.LinAlg.qr(Nx.vectorize(a, :rows))
    assert {q.vectorized_axes, q.shape} == {[rows: 3], {4, 4}}
    assert_near(dot(Nx.devectorize(q), Nx.devectorize(r)), a)
  end

  test "a singular matrix is an error where the result is read" do
    a = Nx.tensor([[1, 2], [2, 4]])
    x = Nx.LinAlg.solve(a, Nx.tensor([1, 2]))
    assert_raise Error, ~r/can't solve for singular matrix/, fn -> Nx.to_binary(x) end
    assert Nx.to_number(Nx.LinAlg.determinant(a)) == 0.0
  end

  test "matrices of NaN give NaN" do
    a = Nx.broadcast(Nx.Constants.nan(), {5, 5})

    for result <- [
          Nx.LinAlg.cholesky(a),
          a |> Nx.LinAlg.qr() |> elem(0),
          a |> Nx.LinAlg.eigh() |> elem(0),
          a |> Nx.LinAlg.svd() |> elem(1)
        ] do
      assert Enum.any?(Nx.to_flat_list(result), &(&1 == :nan))
    end
  end
end
