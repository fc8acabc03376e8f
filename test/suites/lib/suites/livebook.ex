defmodule Suites.Livebook do
  @moduledoc """
  Runs the cells of a livebook of `elixir/nx_vulkan_go`, from top to bottom, in a VM like
  Livebook's, at the small size that its own text offers, and checks its pictures.
  """

  import ExUnit.Assertions

  alias NxVulkanGo.Notebook
  alias NxVulkanGo.Notebook.Document

  @folder Path.expand("../../../../elixir/nx_vulkan_go/livebooks", __DIR__)

  @doc """
  Runs a livebook. Every cell must give what the livebook says, every picture be one that
  Vega-Lite can draw, and `pictures` be their number.
  """
  def run!(name, pictures) do
    document = @folder |> Path.join("#{name}.livemd") |> Document.read!()
    missing = for package <- document.packages, not there?(package), do: package

    if missing == [] do
      options = [env: [{"NOTEBOOK_SIZE", "small"}], observe: {__MODULE__, :observe}]
      outcomes = Notebook.run!(System.tmp_dir!(), document.steps, options)
      assert Document.faults(document, outcomes) == []

      specs =
        for {:cell, id, _} <- document.steps, %{} = spec <- [outcomes[id].observed], do: spec

      assert length(specs) == pictures
      for spec <- specs, do: assert(Suites.Picture.faults(spec) == [])
      said(document)
      :ok
    else
      IO.puts("::skip livebook #{name}: no checkout of #{Enum.join(missing, ", ")}")
      :skipped
    end
  end

  defp said(%{skipped: skipped}) do
    for {line, reason} <- skipped, do: IO.puts("line #{line} is not run: #{reason}")
  end

  # kino_vega_lite has no application to start, and brings the other two.
  defp there?(package),
    do: Application.load(package) in [:ok, {:error, {:already_loaded, package}}]

  @doc false
  # What of a cell's value goes from the VM of the notebook to the test: the specification of
  # a picture.
  def observe(value) do
    if is_struct(value, VegaLite), do: VegaLite.to_spec(value)
  end
end
