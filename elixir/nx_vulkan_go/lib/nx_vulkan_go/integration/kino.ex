# What Livebook shows of the structs of this package.
if Code.ensure_loaded?(Kino.Render) do
  defimpl Kino.Render, for: NxVulkanGo.Explanation do
    @columns [:part, :block, :place, :operations, :kernels, :bytes, :flops] ++
               [:estimated_us, :measured_us, :why]

    def to_livebook(explanation) do
      explanation
      |> NxVulkanGo.Explanation.rows()
      |> Kino.DataTable.new(name: "Parts of the program", keys: @columns)
      |> Kino.Render.to_livebook()
    end
  end

  defimpl Kino.Render, for: NxVulkanGo.Sampler.Summary do
    @columns [:name, :mean, :sd, :mcse, :q05, :median, :q95, :ess_bulk, :ess_tail, :rhat]

    def to_livebook(%{chains: chains, draws: draws, divergent: divergent} = summary) do
      summary.rows
      |> Kino.DataTable.new(
        name: "#{chains} chains of #{draws} draws, #{divergent} divergent",
        keys: @columns
      )
      |> Kino.Render.to_livebook()
    end
  end

  # Static text, since it is shown anew each second.
  defimpl Kino.Render, for: NxVulkanGo.Overview do
    def to_livebook(overview) do
      tables =
        for {title, header, rows} <- NxVulkanGo.Overview.tables(overview) do
          rule = Enum.map(header, fn _ -> "---" end)
          ["### ", title, "\n\n", Enum.map([header, rule | rows], &row(&1, rule)), "\n"]
        end

      ["**", escape("#{overview.server}"), "**\n\n" | tables]
      |> IO.iodata_to_binary()
      |> Kino.Markdown.new()
      |> Kino.Render.to_livebook()
    end

    defp row(rule, rule), do: line(rule)
    defp row(cells, _rule), do: cells |> Enum.map(&escape/1) |> line()

    defp line(cells), do: ["| ", Enum.intersperse(cells, " | "), " |\n"]

    # Labels are what other clients say. Any punctuation may follow a backslash.
    defp escape(text),
      do: text |> String.replace(~r/\s+/, " ") |> String.replace(~r/[[:punct:]]/, "\\\\\\0")
  end
end
