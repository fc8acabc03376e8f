defmodule NxVulkanGo.Bench.Nothing do
  @moduledoc false
  # A backend that computes nothing: the time of a call is then the work of Nx itself,
  # which no backend can change.

  @behaviour Nx.Backend
  defstruct []

  @doc "A tensor of this backend."
  def tensor(shape, type), do: out(Nx.template(shape, type))

  by_hand = [init: 1, to_binary: 2, inspect: 2, block: 4, backend_deallocate: 1]

  @impl true
  def init(options), do: options

  @impl true
  def to_binary(%{type: {_, bits}}, limit), do: <<0::size(limit * bits)>>

  @impl true
  def inspect(_tensor, _options), do: "nothing"

  @impl true
  def block(_struct, out, _args, _fun), do: out(out)

  @impl true
  def backend_deallocate(_tensor), do: :ok

  for {name, arity} <- Nx.Backend.behaviour_info(:callbacks), {name, arity} not in by_hand do
    args = Macro.generate_arguments(arity - 1, __MODULE__)

    @impl true
    def unquote(name)(out, unquote_splicing(args)) do
      _ = unquote(args)
      out(out)
    end
  end

  defp out(%Nx.Tensor{} = out), do: %{out | data: %__MODULE__{}}
  defp out(outs), do: outs |> Tuple.to_list() |> Enum.map(&out/1) |> List.to_tuple()
end
