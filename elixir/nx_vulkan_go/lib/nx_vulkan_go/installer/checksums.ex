defmodule NxVulkanGo.Installer.Checksums do
  @moduledoc false
  # The archives that fit this package, with their sums: priv/checksums.txt. `make release`
  # writes the file, as sha256sum does. A checkout has none before that.

  @type entry :: %{name: String.t(), version: String.t(), system: String.t(), sum: String.t()}

  @doc "The path of the file in this package."
  @spec path() :: Path.t()
  def path, do: Application.app_dir(:nx_vulkan_go, "priv/checksums.txt")

  @doc "Reads the archives of a file; a missing file has none."
  @spec read(Path.t()) :: [entry]
  def read(path \\ path()) do
    case File.read(path) do
      {:ok, text} -> text |> String.split("\n", trim: true) |> Enum.flat_map(&entry/1)
      {:error, _} -> []
    end
  end

  @line ~r/^([0-9a-f]{64})  (nxvk-node_(.+)_([a-z0-9]+_[a-z0-9]+)\.(?:tar\.gz|zip))$/

  # Packages and bills of materials have lines of other forms.
  defp entry(line) do
    case Regex.run(@line, line) do
      [_, sum, name, version, system] ->
        [%{name: name, version: version, system: system, sum: sum}]

      nil ->
        []
    end
  end
end
