defmodule NxVulkanGo.Sampler.Leapfrog do
  @moduledoc false
  # Leapfrog steps as one compiled function: a loop on the node that fills a row a
  # step.

  import Nx.Defn
  alias NxVulkanGo.Sampler.{Layout, Model, Session}

  @doc "k steps from a position and a momentum."
  @spec run(Session.t(), term, term, float, pos_integer) :: {:ok, map} | {:error, String.t()}
  def run(%Session{model: %{layout: layout, type: type}} = session, q, p, eps, k) do
    with {:ok, q} <- vector(layout, "the position", q),
         {:ok, p} <- vector(layout, "the momentum", p),
         :ok <- step(eps),
         :ok <- count(k) do
      ones = :binary.copy(<<1.0::float-64-little>>, layout.dim)
      args = for bytes <- [q, p, session.metric || ones], do: tensor(bytes, type)
      density = {session.model.fun, layout}
      eps = Nx.tensor(eps, type: type, backend: Nx.BinaryBackend)

      steps = fn q, p, metric, eps, data ->
        steps(q, p, metric, eps, data, density: density, k: k)
      end

      options = [compiler: NxVulkanGo] ++ session.place
      {q, p, grad, logp} = Nx.Defn.jit_apply(steps, args ++ [eps, session.data], options)
      {:ok, %{q: q, p: p, grad: grad, log_density: logp}}
    end
  end

  defp vector(layout, what, values) do
    with {:error, why} <- flat(layout, values), do: {:error, "#{what} #{why}"}
  end

  # A vector, or parameters as the template has them.
  defp flat(%{dim: dim}, %Nx.Tensor{shape: {dim}} = vector) do
    vector
    |> Nx.backend_copy(Nx.BinaryBackend)
    |> Nx.as_type(:f64)
    |> Nx.to_binary()
    |> Layout.finite()
  end

  defp flat(layout, values), do: Layout.vectors(layout, values, 1)

  defp step(eps) when is_number(eps) and eps != 0, do: :ok

  defp step(eps),
    do: {:error, "the step size must be a number that is not 0, got: #{inspect(eps)}"}

  defp count(k) when is_integer(k) and k > 0, do: :ok
  defp count(k), do: {:error, "there must be at least one step, got: #{inspect(k)}"}

  defp tensor(bytes, type) do
    bytes |> Nx.from_binary(:f64, backend: Nx.BinaryBackend) |> Nx.as_type(type)
  end

  defnp steps(q, p, metric, eps, data, opts \\ []) do
    k = opts[:k]
    {_, grad} = value_and_gradient(q, data, opts)
    rows = Nx.broadcast(Nx.tensor(0, type: Nx.type(q)), {k, Nx.size(q)})
    column = Nx.broadcast(Nx.tensor(0, type: Nx.type(q)), {k})

    {qs, ps, grads, logps, _} =
      while {qs = rows, ps = rows, grads = rows, logps = column,
             {i = 0, q, p, grad, metric, eps, data}},
            i < k do
        half = p + eps / 2 * grad
        q = q + eps * metric * half
        {logp, grad} = value_and_gradient(q, data, opts)
        p = half + eps / 2 * grad

        {Nx.put_slice(qs, [i, 0], Nx.new_axis(q, 0)), Nx.put_slice(ps, [i, 0], Nx.new_axis(p, 0)),
         Nx.put_slice(grads, [i, 0], Nx.new_axis(grad, 0)),
         Nx.put_slice(logps, [i], Nx.new_axis(logp, 0)), {i + 1, q, p, grad, metric, eps, data}}
      end

    {qs, ps, grads, logps}
  end

  deftransformp value_and_gradient(q, data, opts) do
    {fun, layout} = opts[:density]
    Model.value_and_gradient(fun, layout, q, data)
  end
end
