# EXLA's tests of sharding, by their values, on four device servers: of one node, of two and of three, on the host and on a
# device of Vulkan where there is one.
layouts = [
  Hosts: [["host", "host", "host", "host"]],
  Devices: [["0", "0", "0", "0"]],
  TwoNodes: [["host", "host"], ["host", "host"]],
  ThreeNodes: [["0"], ["host", "0"], ["host"]]
]

for {name, layout} <- layouts do
  defmodule Module.concat(NxVulkanGo.Compiler.ShardTest, name) do
    use ExUnit.Case, async: false
    @moduletag :launched

    alias NxVulkanGo.Sharded

    # A server without a device of Vulkan has the host in its place.
    @layout if Enum.any?(NxVulkanGo.devices(), &(&1.kind != :host)),
              do: layout,
              else: for(node <- layout, do: for(_ <- node, do: "host"))

    setup_all do
      {:ok, peer: Sharded.start_for_tests!(@layout)}
    end

    @s32 {:s, 32}

    # Columns of partitions: {numbers} of shape {n, 1}.
    defp column(numbers), do: Nx.tensor(for n <- numbers, do: [n])

    defp xy do
      for {x, y} <- [{0..3, 100..103}, {10..13, 100..103}, {4..7, 104..107}, {14..17, 104..107}],
          do: [column(x), column(y)]
    end

    defp shard(peer, name, shape, shardings, args),
      do: Sharded.on(peer, :shard, [name, shape, shardings, args])

    defp column_of(numbers, device), do: {@s32, {length(numbers), 1}, numbers, device}

    test "results of a tuple have shardings of their own", %{peer: peer} do
      assert shard(peer, :pair, {2, 2}, [%{0 => [0], 1 => [1]}, %{0 => [0]}], xy()) == [
               [column_of([100, 102, 104, 106], 0), column_of([200, 202, 204, 206], 0)],
               [column_of([110, 112, 114, 116], 1), column_of([200, 202, 204, 206], 1)],
               [column_of([108, 110, 112, 114], 2), column_of([208, 210, 212, 214], 2)],
               [column_of([118, 120, 122, 124], 3), column_of([208, 210, 212, 214], 3)]
             ]
    end

    test "the sharding of a result follows from those of the arguments", %{peer: peer} do
      sums = [
        [100, 102, 104, 106],
        [110, 112, 114, 116],
        [108, 110, 112, 114],
        [118, 120, 122, 124]
      ]

      want = for {numbers, device} <- Enum.with_index(sums), do: column_of(numbers, device)
      assert shard(peer, :add, {2, 2}, [%{0 => [0], 1 => [1]}, %{0 => [0]}], xy()) == want
      assert shard(peer, :add, {2, 2}, [%{-2 => [0], -1 => [1]}, %{0 => [0]}], xy()) == want
    end

    test "explain has the shardings and the collectives with their bytes", %{peer: peer} do
      x = Nx.template({3, 8}, :f32)
      w = Nx.template({8, 5}, :f32)

      # The contracted dimension is divided, so the products are summed over both partitions.
      assert {shards, text, parts} =
               Sharded.on(peer, :explain, [:dot, {2}, [%{1 => [0]}, %{0 => [0]}], [x, w]])

      assert shards.mesh == {2}
      assert shards.arguments == [[[], [0]], [[0], []]]
      assert shards.results == [{:f32, {3, 5}, [[], []]}]
      assert [%{operation: :dot, what: what, bytes: 60}] = shards.collectives
      assert what =~ "all_reduce"
      assert parts > 0

      for line <- [
            "mesh {2}",
            "argument 0: dimension 1 by axis 0",
            "result 0: f32[3, 5], whole",
            "60 B"
          ],
          do: assert(text =~ line, text)

      # Rows alone are divided: nothing is exchanged.
      assert {%{collectives: [], results: [{_, {6, 5}, [[0], []]}]}, text, _} =
               Sharded.on(peer, :explain, [
                 :dot,
                 {2},
                 [%{0 => [0]}, %{}],
                 [x, Nx.template({8, 5}, :f32)]
               ])

      assert text =~ "nothing is exchanged"

      assert {ArgumentError, _} =
               Sharded.on(peer, :explain, [:dot, {2}, [%{0 => [1]}, %{}], [x, w]])
    end

    test "a mesh of three axes", %{peer: peer} do
      args = for i <- 0..3, do: [Nx.reshape(Nx.iota({4}), {2, 2, 1}) |> Nx.add(4 * i)]
      by = [%{0 => [0], 1 => [1], 2 => [2]}]

      assert shard(peer, :twice, {2, 1, 2}, by, args) ==
               for(i <- 0..3, do: {@s32, {2, 2, 1}, for(k <- 0..3, do: 2 * (4 * i + k)), i})

      assert shard(peer, :one, {2, 1, 2}, by, args) ==
               for(i <- 0..3, do: {@s32, {2, 2, 1}, for(k <- 0..3, do: 4 * i + k + 1), i})
    end

    test "a dimension over two axes", %{peer: peer} do
      args = for i <- 0..3, do: [Nx.iota({4, 4})[i..i]]

      assert shard(peer, :transpose, {2, 2}, [%{0 => [0, 1], 1 => []}], args) ==
               for(i <- 0..3, do: {@s32, {4, 1}, for(k <- 0..3, do: 4 * i + k), i})
    end

    test "three arguments", %{peer: peer} do
      args =
        for {x, y, z} <- [{0..3, 1, 100}, {10..13, 1, 100}, {4..7, 2, 100}, {14..17, 2, 100}],
            do: [column(x), column(List.duplicate(y, 4)), column(List.duplicate(z, 4))]

      assert shard(peer, :three, {2, 2}, [%{0 => [0], 1 => [1]}, %{0 => [0]}, %{0 => [0]}], args) ==
               [
                 column_of([100, 101, 102, 103], 0),
                 column_of([110, 111, 112, 113], 1),
                 column_of([108, 110, 112, 114], 2),
                 column_of([128, 130, 132, 134], 3)
               ]
    end

    test "windows reach into other partitions", %{peer: peer} do
      args = for row <- [[1, 2], [3, 4], [5, 6], [7, 8]], do: [Nx.tensor([row])]
      by = [%{0 => [0], 1 => [1]}]
      numbers = fn results -> for {_, shape, numbers, _} <- results, do: {shape, numbers} end

      assert numbers.(shard(peer, :strided, {2, 2}, by, args)) ==
               for(n <- [14, 22, 14, 22], do: {{1, 1}, [n]})

      assert numbers.(shard(peer, :same, {2, 2}, by, args)) ==
               for(n <- [[14, 18], [22, 12], [11, 13], [15, 8]], do: {{1, 2}, n})

      assert numbers.(shard(peer, :valid, {2, 2}, by, args)) ==
               for(_ <- 0..3, do: {{1, 3}, [14, 18, 22]})
    end

    test "replicated tensors, scalars, names, and mixtures", %{peer: peer} do
      assert shard(peer, :one, {2, 2}, [%{}], List.duplicate([Nx.iota({8, 4})], 4)) ==
               for(i <- 0..3, do: {@s32, {8, 4}, Enum.to_list(1..32), i})

      assert shard(peer, :one, {2}, [%{}], List.duplicate([Nx.tensor(5.0)], 2)) ==
               for(i <- 0..1, do: {{:f, 32}, {}, [6.0], i})

      named = List.duplicate([Nx.iota({2, 2}, names: [:batch, :features])], 2)

      assert shard(peer, :one, {2}, [%{batch: [0]}], named) ==
               for(i <- 0..1, do: {@s32, {2, 2}, [1, 2, 3, 4], i})

      args = List.duplicate([Nx.iota({4, 2}), Nx.iota({4, 4}), Nx.iota({8, 4})], 4)

      assert [[{_, {4, 2}, _, 0}, {_, {4, 4}, product, 0}] | _] =
               shard(peer, :mixed, {2, 2}, [%{0 => [0], 1 => [1]}, %{0 => [0]}, %{}], args)

      assert product == for(n <- 0..15, do: n * n)
    end

    test "all types", %{peer: peer} do
      types =
        for(
          {kind, sizes} <- [s: [8, 16, 32, 64], u: [8, 16, 32, 64], f: [8, 16, 32, 64]],
          size <- sizes,
          do: {kind, size}
        ) ++
          [{:f8_e4m3fn, 8}, {:bf, 16}, {:c, 64}, {:c, 128}]

      for type <- types do
        args = for n <- [1, 1, 3, 3], do: [Nx.tensor([n], type: type)]
        results = shard(peer, :double, {2, 2}, [%{0 => [0]}], args)
        wanted = for n <- [2, 2, 6, 6], do: Nx.tensor([n], type: type) |> Nx.to_flat_list()
        assert {type, for({_, _, numbers, _} <- results, do: numbers)} == {type, wanted}
        assert for({^type, {1}, _, device} <- results, do: device) == [0, 1, 2, 3]
      end
    end

    test "what does not fit is an error", %{peer: peer} do
      refused = fn name, shape, by, args ->
        assert {ArgumentError, text} = shard(peer, name, shape, by, args)
        text
      end

      two = List.duplicate([Nx.iota({4, 2})], 2)
      four = List.duplicate([Nx.iota({4, 1})], 4)
      assert refused.(:one, {2, 2}, nil, four) =~ "input_shardings are required for sharding"

      assert refused.(:add, {2}, [%{}], List.duplicate([1, 2], 2)) =~
               ~r/expected 2 input sharding.*got 1/

      assert refused.(:one, {2, 2}, [%{0 => [2]}], four) =~
               "axis 2 is not valid for mesh with 2 axes"

      assert refused.(:one, {2, 2}, [%{0 => [0], 1 => [0]}], four) =~ "axis 0 was used twice"
      assert refused.(:one, {2}, [%{0 => [0], 2 => []}], two) =~ "invalid for shape with rank 2"

      assert refused.(:one, {2}, [%{-3 => [0]}], two) =~
               "given axis (-3) invalid for shape with rank 2"

      assert refused.(:one, {2}, [%{3 => [0]}], two) =~
               "given axis (3) invalid for shape with rank 2"

      assert refused.(:one, {2}, [[0]], two) =~ "expected input sharding to be a map"

      assert refused.(:one, {2}, [%{0 => [0]}], [hd(two)]) =~
               "takes a list of arguments for each, got: 1"

      assert refused.(:hook, {2}, [%{0 => [0]}], two) =~ "hooks"

      # There are four devices, or places.
      assert {error, _} =
               shard(peer, :one, {5}, [%{0 => [0]}], List.duplicate([Nx.iota({4, 2})], 5))

      assert error in [NxVulkanGo.Error, ArgumentError]
    end

    test "gradients over a batch are those of the whole", %{peer: peer} do
      for seed <- 1..5,
          difference <- Sharded.on(peer, :gradient, [seed]),
          do: assert(difference < 1.0e-5)
    end

    test "many processes at once", %{peer: peer} do
      assert Sharded.on(peer, :at_once, [8, 10]) == [2]
    end

    test "a session that ends is replaced", %{peer: peer} do
      for device <- [0, 1],
          do: assert(Sharded.on(peer, :after_session, [device]) == {[10, 10], [10, 10]})
    end
  end
end
