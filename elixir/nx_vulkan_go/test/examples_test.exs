defmodule NxVulkanGo.ExamplesTest do
  # The example that needs no other package; axon_training_loop.exs is run by test/suites of
  # the repository.
  use ExUnit.Case, async: true

  @moduletag :launched

  test "full_bench.exs prints a table of each size, and passes" do
    env = [{"SIZES", "4,8"}, {"REPEAT", "1"}, {"BINARY_LIMIT", "4"}, {"NXVK_CHECK", nil}]
    {said, status} = NxVulkanGo.Script.run("examples/full_bench.exs", env)
    assert {said, status} == {said, 0}
    assert said =~ ~r/^4 × 4 +BinaryBackend +eager +compiled/m
    assert length(Regex.scan(~r/^a layer and its gradient( +[\d.]+){3}/m, said)) == 1
    # Above the limit Nx.BinaryBackend is left out.
    assert said =~ ~r/^dot +- +[\d.]+ +[\d.]+ +\d/m
    assert length(Regex.scan(~r/^PASS/m, said)) == 3
  end
end
