defmodule NxVulkanGo.ExplanationTest do
  # What the node says of programs, and how that is shown.
  use ExUnit.Case, async: false

  import Nx.Defn
  alias NxVulkanGo.Explanation

  defn softmax(x) do
    e = Nx.exp(x - Nx.reduce_max(x, axes: [-1], keep_axes: true))
    e / Nx.sum(e, axes: [-1], keep_axes: true)
  end

  defn halve(x) do
    while x, Nx.sum(x) > 1 do
      x / 2
    end
  end

  defp explain(fun, options \\ []),
    do: NxVulkanGo.explain(fun, [Nx.template({64, 300}, :f32)], options)

  test "every operation of the function is in a part, and parts add up" do
    %Explanation{parts: parts} = explanation = explain(&softmax/1)
    lines = Enum.flat_map(parts, & &1.instructions)
    for op <- ~w(exp reduce_max sum divide), do: assert(Enum.any?(lines, &(&1 =~ " = #{op} ")))

    for part <- parts do
      assert part.block == "" and part.measured == nil
      assert part.bytes == part.kernels |> Enum.map(& &1.bytes) |> Enum.sum()
      assert part.place in [:device, :host, :view]
      assert part.place != :device or (part.bytes > 0 and part.seconds > 0)
      assert part.why != [] and Enum.all?(part.why, &is_binary/1)
    end

    assert length(Explanation.rows(explanation)) == length(parts)
  end

  defn ranked(x), do: Nx.exp(Nx.sort(Nx.tanh(x + 1), axis: 1))

  test "a part says what it ends before" do
    explanation = explain(&ranked/1)
    why = Enum.flat_map(explanation.parts, & &1.why)
    part = Enum.find(explanation.parts, &Enum.any?(&1.instructions, fn i -> i =~ " = tanh " end))

    if part.place == :device do
      assert "joined by pointwise" in part.why

      assert Enum.any?(
               part.why,
               &(&1 =~ ~r/^ends before %\d+ sort: sort has kernels of its own$/)
             )
    end

    for reason <- why, do: assert(Explanation.text(explanation) =~ "  #{reason}\n")
    assert Enum.any?(Explanation.rows(explanation), &(&1.why =~ Enum.join(part.why, "; ")))
  end

  test "what is in a loop says so" do
    %Explanation{parts: parts} = explanation = explain(&halve/1)
    assert Enum.any?(parts, &(&1.place == :control))
    # A division by a power of two is a product.
    assert Enum.any?(parts, &(&1.block =~ "body" and hd(&1.instructions) =~ "multiply"))
    assert Explanation.text(explanation) =~ ~r/%\d+ body: .*multiply/
  end

  test "with target: :gpu the parts are those of a GPU, on any device" do
    %Explanation{parts: [part]} = explain(&softmax/1, target: :gpu)
    assert %{place: :device, kernels: [_one], held: held, params: params} = part
    assert part.bytes == held + params

    assert_raise ArgumentError, ~r/profile: true/, fn ->
      explain(&softmax/1, target: :gpu, profile: true)
    end

    assert_raise ArgumentError, ~r/target: :cpu/, fn -> explain(&softmax/1, target: :cpu) end
  end

  test "with profile the parts of a device are measured" do
    %Explanation{parts: parts} = explain(&softmax/1, profile: true)
    assert parts != []

    for %{place: :device, measured: measured} <- parts,
        do: assert(measured == nil or (measured > 0 and measured < 10))

    for part <- parts, part.place != :device, do: assert(part.measured == nil)
  end

  test "the text has the program, a line for each part, and the sums" do
    part = fn place, instructions, why, kernels, measured ->
      %{
        block: "",
        place: place,
        instructions: instructions,
        why: why,
        kernels: kernels,
        bytes: kernels |> Enum.map(& &1.bytes) |> Enum.sum(),
        flops: 7,
        seconds: kernels |> Enum.map(& &1.seconds) |> Enum.sum(),
        measured: measured
      }
    end

    kernel = %{name: "k", grid: {1, 1, 1}, bytes: 1_500_000, flops: 7, seconds: 2.5e-6}
    same = List.duplicate("%3:f32 = add %1, %2", 3)

    why = ["joined by reduce_in", "ends before %5 reshape: reshape must be in memory"]

    parts = [
      part.(:device, same ++ ["%4:f32 = sum %3 axes=[0]"], why, [kernel, kernel], 1.5e-3),
      part.(:view, ["%5:f32 = reshape %4"], ["%5 is a result"], [], nil)
    ]

    program = explain(&softmax/1).program
    text = "#{%Explanation{program: program, parts: parts}}"
    assert text =~ "instructions, 1 arguments"

    assert text =~ """

           part   place  kernels   bytes  estimated  measured  operations
              1  device        2  3.0 MB     5.0 us    1.5 ms  3 add, sum
                                                                 joined by reduce_in
                                                                 ends before %5 reshape: reshape must be in memory
              2    view        0     0 B     0.0 us         -  reshape
                                                                 %5 is a result
            all                2  3.0 MB     5.0 us    1.5 ms
           """

    assert inspect(%Explanation{program: program, parts: []}) =~
             ~r/^#NxVulkanGo.Explanation<\n.*>$/s
  end

  test "a function that cannot be compiled has a reason and no parts" do
    future = fn x -> put_in(Nx.exp(x).data.op, :from_the_future) end
    explanation = explain(future)
    assert explanation.parts == []
    assert "#{explanation}" =~ "run by Nx.Defn.Evaluator: from_the_future"
  end
end
