defmodule Suites.LivebookTest do
  use ExUnit.Case, async: false

  alias Suites.Picture

  @moduletag timeout: 600_000

  # The number of pictures in each.
  for {name, pictures} <- [
        axon: 3,
        bayes: 7,
        bumblebee: 1,
        explain: 3,
        introduction: 0,
        remote: 2
      ] do
    test "#{name}.livemd from top to bottom" do
      assert Suites.Livebook.run!(unquote(name), unquote(pictures)) in [:ok, :skipped]
    end
  end

  test "axon_training_loop.exs prints a table, and passes" do
    path = Path.expand("../../../../elixir/nx_vulkan_go/examples/axon_training_loop.exs", __DIR__)

    if Code.ensure_loaded?(Axon) do
      env = [{"STEPS", "5"}, {"POINTS", "16"}]
      {said, status} = NxVulkanGo.Script.run(path, env)
      assert {said, status} == {said, 0}
      assert said =~ ~r/^ +5( +[\d.]+){3}/m
      assert said =~ ~r/^PASS/m
    else
      IO.puts("::skip axon_training_loop.exs: no checkout of axon")
    end
  end

  test "axon_data_parallel.exs has the losses of one device on two, and passes" do
    path = Path.expand("../../../../elixir/nx_vulkan_go/examples/axon_data_parallel.exs", __DIR__)

    if Code.ensure_loaded?(Axon) do
      {said, status} = NxVulkanGo.Script.run(path, [])
      assert {status, said =~ ~r/^PASS/m} == {0, true}, said
    else
      IO.puts("::skip axon_data_parallel.exs: no checkout of axon")
    end
  end

  test "a picture that cannot be drawn is found" do
    sound = %{
      "data" => %{"values" => [%{"a" => 1, "b" => 2.0}]},
      "mark" => "point",
      "encoding" => %{
        "x" => %{"field" => "a", "type" => "quantitative"},
        "y" => %{"field" => "b", "type" => "quantitative"}
      }
    }

    assert Picture.faults(sound) == []

    assert Picture.faults(%{"data" => sound["data"], "layer" => [Map.delete(sound, "data")]}) ==
             []

    for {path, value} <- [
          {["data", "values"], []},
          {["data", "values"], [%{"a" => 1}]},
          {["data", "values"], [%{"a" => 1, "b" => "NaN"}]},
          {["mark"], "dots"},
          {["encoding", "x", "type"], "number"},
          {["encoding", "z"], %{"field" => "a", "type" => "quantitative"}},
          {["encoding", "x", "scale"], %{"type" => "log"}},
          {["encoding", "x", "field"], "c"}
        ] do
      spec = put_in(sound, path, value)

      spec =
        if path == ["encoding", "x", "scale"],
          do: put_in(spec, ["data", "values"], [%{"a" => 0, "b" => 1}]),
          else: spec

      assert [_ | _] = Picture.faults(spec)
    end
  end
end
