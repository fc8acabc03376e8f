defmodule NxVulkanGo.Sampler.Model do
  @moduledoc """
  A log density that can be sampled: the program of the density and its gradient, the layout
  of the parameters, and the data. `NxVulkanGo.Sampler.compile/4` makes it.
  """

  alias Nx.Defn.Composite
  alias NxVulkanGo.Compiler
  alias NxVulkanGo.Compiler.Program
  alias NxVulkanGo.Sampler.{Layout, Precision}

  @enforce_keys [:fun, :layout, :type, :data, :key, :code, :inputs]
  defstruct @enforce_keys

  @type t :: %__MODULE__{
          # log density of parameters and data
          fun: (term, term -> Nx.Tensor.t()),
          layout: struct,
          # of positions and densities
          type: Nx.Type.t(),
          # container of tensors
          data: term,
          # of the program, and its region in external term format
          key: binary,
          code: binary,
          # arguments of the program after the position
          inputs: [Nx.Tensor.t()]
        }

  @doc false
  def new(fun, template, data, options) do
    type = options |> Keyword.validate!(type: :f64) |> Keyword.fetch!(:type) |> type!()
    layout = Layout.new(template)
    fun = of_data(fun)
    data = Composite.traverse(container(data), &Nx.to_tensor/1)
    program = trace(fun, layout, type, data)

    %__MODULE__{
      fun: fun,
      layout: layout,
      type: type,
      data: data,
      key: program.key,
      code: program.code,
      inputs: inputs!(program, data)
    }
  end

  defp type!(type) do
    case Nx.Type.normalize!(type) do
      {:f, bits} = type when bits in [32, 64] -> type
      other -> raise ArgumentError, ":type must be :f64 or :f32, got: #{inspect(other)}"
    end
  end

  defp of_data(fun) when is_function(fun, 2), do: fun
  defp of_data(fun) when is_function(fun, 1), do: fn params, _data -> fun.(params) end

  defp of_data(other) do
    raise ArgumentError,
          "the log density must be a function of parameters and data, got: #{inspect(other)}"
  end

  defp container([]), do: {}
  defp container(data), do: data

  defp trace(fun, layout, type, data) do
    position = Nx.template({layout.dim}, type)
    args = [position, Composite.traverse(data, &Nx.to_template/1)]

    value_and_gradient = fn q, data -> value_and_gradient(fun, layout, q, data) end
    value = fn q, data -> layout |> Layout.unflatten(q) |> fun.(data) |> Nx.to_tensor() end
    value |> Nx.Defn.debug_expr_apply(args) |> Precision.warn(type)

    case Compiler.build(Nx.Defn.debug_expr_apply(value_and_gradient, args), [], []) do
      %Program{callbacks: {}, outs: [0, 1], inputs: [0 | _]} = program ->
        program

      %Program{callbacks: {}} ->
        raise ArgumentError, "the log density does not depend on the parameters"

      %Program{} ->
        raise ArgumentError, "the log density has hooks or runtime calls; it must have none"

      {:unsupported, reason} ->
        raise ArgumentError, "the node cannot compute the log density: #{reason}"
    end
  end

  @doc false
  # The log density and its gradient at a vector, of its type.
  def value_and_gradient(fun, layout, q, data) do
    Nx.Defn.value_and_grad(q, fn q ->
      layout |> Layout.unflatten(q) |> fun.(data) |> scalar!(q.type)
    end)
    |> then(fn {value, gradient} -> {value, Nx.as_type(gradient, q.type)} end)
  end

  defp scalar!(value, type) do
    case Nx.to_tensor(value) do
      %{shape: {}, vectorized_axes: [], type: {kind, _}} = value when kind != :c ->
        Nx.as_type(value, type)

      other ->
        raise ArgumentError, "the log density must be a real scalar, got: #{inspect(other)}"
    end
  end

  # The tensors of the data that the program uses, then the captured tensors.
  defp inputs!(%Program{inputs: [0 | positions], captured: captured}, data) do
    data = List.to_tuple(Composite.flatten_list([data]))
    Enum.map(positions, &elem(data, &1 - 1)) ++ Enum.map(captured, &elem(&1, 1))
  end
end
