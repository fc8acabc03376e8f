# Livebook shows an explanation as a table.
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
end
