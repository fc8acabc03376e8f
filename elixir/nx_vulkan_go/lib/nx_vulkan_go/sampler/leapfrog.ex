defmodule NxVulkanGo.Sampler.Leapfrog do
  @moduledoc false
  # Takes leapfrog steps with one request: the node makes a kernel of the model's
  # program, and answers with a row for each step.

  alias NxVulkanGo.Backend.Eager
  alias NxVulkanGo.{Encoding, Error}
  alias NxVulkanGo.Sampler.{Layout, Session}
  alias NxVulkanGo.Session.Registry

  @doc "Takes k steps from a position and a momentum."
  @spec run(Session.t(), term, term, float, pos_integer) :: {:ok, map} | {:error, String.t()}
  def run(%Session{model: %{layout: layout}} = session, q, p, eps, k) do
    with {:ok, q} <- vector(layout, "the position", q),
         {:ok, p} <- vector(layout, "the momentum", p),
         :ok <- step(eps),
         :ok <- count(k) do
      call(session, %{q: q, p: p, eps: eps * 1.0, k: k})
    end
  end

  defp call(%Session{model: model, metric: metric} = session, steps) do
    vm = Registry.fetch!(session.place)
    # The data are on this device, or scalars that travel along.
    {operands, {[], [], []}} = Eager.encode_operands(session.inputs, vm)

    request =
      Map.merge(steps, %{
        program: model.key,
        dim: model.layout.dim,
        type: Encoding.type_to_atom(model.type),
        data: operands,
        metric: metric
      })

    answer = NxVulkanGo.Session.call(vm, {:leapfrog, request}, model)
    NxVulkanGo.Session.keep_alive(session)

    case answer do
      {:ok, rows} -> {:ok, tensors(rows, model, steps.k)}
      {:error, %Error{kind: :bad_argument} = error} -> {:error, Exception.message(error)}
      {:error, error} -> raise error
    end
  end

  defp tensors({q, p, grad, logp}, model, k) do
    matrix = {k, model.layout.dim}

    for {name, bytes, shape} <- [
          {:q, q, matrix},
          {:p, p, matrix},
          {:grad, grad, matrix},
          {:log_density, logp, {k}}
        ],
        into: %{} do
      {name, bytes |> Nx.from_binary(model.type, backend: Nx.BinaryBackend) |> Nx.reshape(shape)}
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
end
