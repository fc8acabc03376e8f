defmodule NxVulkanGo.Sampler.Diagnostics do
  @moduledoc """
  Measures whether chains have mixed, and the effective number of their draws.

  The measures are rank-normalised split R-hat and the effective sample sizes of bulk and
  tail, as Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021) define them and the R package
  `posterior` computes them, with the autocovariances of Geyer's initial monotone sequence.
  Draws are a tensor of shape `{chains, draws}`, or a list of lists. Values are `nil` where draws
  are constant, not finite, or fewer than six for each chain. The host of the default server
  computes them.

  R-hat should be below 1.01, and both effective sample sizes above 100 for each chain.

  The summary of a result of `NxVulkanGo.Sampler.nuts/2` prints as a table.
  """

  alias Nx.Defn.Composite
  alias NxVulkanGo.Sampler.Summary
  alias NxVulkanGo.Session
  alias NxVulkanGo.Session.Registry

  @type draws :: Nx.Tensor.t() | [[number]]
  @type value :: float | nil

  # The numbers of the answer for a parameter, in order.
  @names [:mean, :sd, :mcse, :q05, :median, :q95, :ess_bulk, :ess_tail, :ess_mean, :rhat]
  @width length(@names)

  @doc """
  Computes all measures: a map of `:mean`, `:sd`, `:mcse` (of the mean), `:q05`, `:median`,
  `:q95`, `:ess_bulk`, `:ess_tail`, `:ess_mean` and `:rhat`.

  For a tensor with more than two axes, returns a list with the map of each element, in
  row-major order. For a result of `NxVulkanGo.Sampler.nuts/2`, returns a
  `NxVulkanGo.Sampler.Summary`.
  """
  @spec summary(draws | %{draws: term, stats: map}) :: map | [map] | Summary.t()
  def summary(%{draws: nil, stats: nil}), do: raise(ArgumentError, "the result has no draws")

  def summary(%{draws: draws, stats: %{} = stats}) do
    tensors = Composite.flatten_list([draws])
    {chains, count} = size!(hd(tensors))
    rows = Enum.zip_with(Summary.names(draws), of(tensors), &Map.put(&2, :name, &1))
    divergent = stats.divergent |> Nx.sum() |> Nx.to_number()
    %Summary{rows: rows, chains: chains, draws: count, divergent: divergent}
  end

  def summary(%Nx.Tensor{shape: shape} = draws) when tuple_size(shape) > 2, do: of([draws])

  def summary(draws) do
    [one] = of([tensor!(draws)])
    one
  end

  @doc "Computes rank-normalised split R-hat: the larger one of the draws and of the folded draws."
  @spec rhat(draws) :: value
  def rhat(draws), do: summary(draws).rhat

  @doc "Computes the bulk effective sample size, that of rank-normalised draws."
  @spec ess_bulk(draws) :: value
  def ess_bulk(draws), do: summary(draws).ess_bulk

  @doc "Computes the tail effective sample size: the smaller one of the quantiles of 5 and 95 %."
  @spec ess_tail(draws) :: value
  def ess_tail(draws), do: summary(draws).ess_tail

  @doc "Computes the effective sample size of the mean."
  @spec ess_mean(draws) :: value
  def ess_mean(draws), do: summary(draws).ess_mean

  @doc "Computes the Monte Carlo standard error of the mean."
  @spec mcse(draws) :: value
  def mcse(draws), do: summary(draws).mcse

  ## Draws

  defp tensor!(%Nx.Tensor{shape: {_, _}} = draws), do: draws

  defp tensor!([[_ | _] = first | rest] = draws) do
    unless Enum.all?(rest, &(length(&1) == length(first))) do
      raise ArgumentError, "all chains must have as many draws"
    end

    Nx.tensor(draws, type: :f64, backend: Nx.BinaryBackend)
  end

  defp tensor!(other) do
    raise ArgumentError, "draws are a tensor {chains, draws} or lists, got: #{inspect(other)}"
  end

  defp size!(%Nx.Tensor{shape: shape}) when tuple_size(shape) >= 2,
    do: {elem(shape, 0), elem(shape, 1)}

  defp size!(other), do: tensor!(other)

  # The chains of each element, one element after the other.
  defp bytes(draws, {chains, count}) do
    draws
    |> Nx.backend_copy(Nx.BinaryBackend)
    |> Nx.as_type(:f64)
    |> Nx.reshape({chains, count, :auto}, names: [nil, nil, nil])
    |> Nx.transpose(axes: [2, 0, 1])
    |> Nx.to_binary()
  end

  ## The server

  # Of bytes in a request, about.
  @most 16 * 1024 * 1024

  # The summaries of all elements of tensors, which have the same chains.
  defp of([first | _] = tensors) do
    {chains, count} = size = size!(first)
    all = tensors |> Enum.map(&bytes(&1, size)) |> IO.iodata_to_binary()
    vm = Registry.fetch!([])
    one = chains * count * 8

    for part <- parts(all, one * max(1, div(@most, one))),
        numbers = Session.call!(vm, {:summary, %{chains: chains, draws: count, data: part}}),
        <<row::binary-size(@width * 8) <- numbers>> do
      @names |> Enum.zip(values(row)) |> Map.new()
    end
  end

  defp parts(bytes, size) when byte_size(bytes) <= size, do: [bytes]

  defp parts(bytes, size) do
    <<part::binary-size(size), rest::binary>> = bytes
    [part | parts(rest, size)]
  end

  # NaN and infinities are no floats.
  defp values(<<x::float-64-little, rest::binary>>), do: [x | values(rest)]
  defp values(<<_::64, rest::binary>>), do: [nil | values(rest)]
  defp values(<<>>), do: []
end
