defmodule NxVulkanGo.GuidesTest do
  # Every example of the guides and of the livebooks that need no other package, in a VM of
  # its own for each document, with the configuration of a user.
  use ExUnit.Case, async: false

  alias NxVulkanGo.Notebook
  alias NxVulkanGo.Notebook.Document

  @moduletag :tmp_dir
  @moduletag :launched

  @guides Path.wildcard("guides/*.md")
  @documents ["livebooks/introduction.livemd" | @guides]

  for path <- @documents do
    @tag document: path
    test "the examples of #{path} run", %{tmp_dir: dir, document: path} do
      document = Document.read!(path)
      assert document.packages in [[], [:nx_vulkan_go]]
      outcomes = Notebook.run!(dir, document.steps, env: [{"NXVK_CHECK", nil}])
      assert Document.faults(document, outcomes) == []
    end
  end

  test "what is not run has a reason, and is little" do
    documents = for path <- @documents, do: {path, Document.read!(path)}
    run = for {_, document} <- documents, {:cell, _, _} <- document.steps, do: 1

    skipped =
      for {path, document} <- documents, {line, reason} <- document.skipped do
        assert String.length(reason) > 10, "#{path}:#{line} is not run: #{reason}"
        {path, line, reason}
      end

    IO.puts("guides: #{length(run)} examples run, #{length(skipped)} do not:")
    for {path, line, reason} <- skipped, do: IO.puts("  #{path}:#{line}: #{reason}")
    assert length(run) > 3 * length(skipped)
  end
end
