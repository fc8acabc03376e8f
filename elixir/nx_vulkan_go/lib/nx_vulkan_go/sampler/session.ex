defmodule NxVulkanGo.Sampler.Session do
  @moduledoc """
  A model with its data on a device, and the diagonal of the inverse mass matrix.
  `NxVulkanGo.Sampler.session/2` makes it. Its memory is freed when nothing refers to it.
  """

  alias Nx.Defn.Composite
  alias NxVulkanGo.Backend
  alias NxVulkanGo.Backend.Eager
  alias NxVulkanGo.Sampler.{Layout, Model}
  alias NxVulkanGo.Session.Registry

  @enforce_keys [:model, :place, :data, :inputs, :metric]
  defstruct @enforce_keys

  @type t :: %__MODULE__{
          model: Model.t(),
          # options of the backend
          place: keyword,
          # the model's, on the device
          data: term,
          inputs: [Nx.Tensor.t()],
          # f64 numbers, or nil for ones
          metric: binary | nil
        }

  @doc false
  def new(%Model{} = model, options) do
    options = Keyword.validate!(options, [:server, :device, :metric])
    %{server: server, device: device} = Registry.fetch!(options)
    place = [server: server, device: device]

    %__MODULE__{
      model: model,
      place: place,
      data: Composite.traverse(model.data, &there(&1, place)),
      inputs: Enum.map(model.inputs, &there(&1, place)),
      metric: metric!(model.layout, options[:metric], 1)
    }
  end

  # Tensors that are small enough to stay in this VM are sent; scalars are not.
  defp there(tensor, place) do
    case Nx.backend_copy(tensor, {Backend, place}) do
      %{data: %{id: nil, literal: data}, shape: shape} = t when shape != {} ->
        Eager.upload(t, data, place)

      there ->
        there
    end
  end

  @doc false
  # Of all chains, or of each where it has an axis of them.
  def metric!(_layout, nil, _chains), do: nil

  def metric!(layout, metric, chains) do
    with {:ok, bytes} <- Layout.vectors(layout, metric, chains),
         true <- positive?(bytes) || {:error, "must have positive numbers"} do
      bytes
    else
      {:error, why} -> raise ArgumentError, ":metric #{why}"
    end
  end

  defp positive?(bytes), do: Enum.all?(for(<<x::float-64-little <- bytes>>, do: x > 0))
end
