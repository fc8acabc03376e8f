if Code.ensure_loaded?(FLAME.Trackable) do
  defmodule NxVulkanGo.Integration.FlameTest do
    # Tensors that a runner of FLAME returns.
    use ExUnit.Case, async: false
    @moduletag :launched

    alias NxVulkanGo.{Peer, PeerRunner, Script}

    test "examples/flame.exs passes with the local backend" do
      {said, status} = Script.run("examples/flame.exs", [])
      assert {status, said =~ "PASS"} == {0, true}, said
    end

    describe "a runner in another VM" do
      setup do
        Peer.name_vm!()
        %{server: server} = NxVulkanGo.Session.Registry.fetch!([])

        pool = fn options ->
          backend = {PeerRunner, server: server, told: self()}
          name = :"pool_#{System.unique_integer([:positive])}"

          start_supervised!(
            {FLAME.Pool,
             [
               name: name,
               min: 0,
               max: 1,
               max_concurrency: 2,
               idle_shutdown_after: 300,
               backend: backend
             ] ++ options},
            id: name
          )

          name
        end

        make = fn pool ->
          made = PeerRunner.tensors(pool, server)
          assert_receive {:booted, node}
          Node.monitor(node, true)
          {made, node}
        end

        {:ok, pool: pool, make: make}
      end

      test "lives until its tensors are used, wherever they are in the result", context do
        {made, node} = context.make.(context.pool.(track_resources: true))
        %{one: one, more: [{two, nil}]} = made
        refute_receive {:nodedown, ^node}, 2_000
        assert Nx.to_flat_list(Nx.add(one, 1)) == [1, 2, 3]
        refute_receive {:nodedown, ^node}, 2_000
        assert Nx.to_flat_list(two) == [0, 1, 2, 3]
        assert_receive {:nodedown, ^node}, 30_000
        # They are this VM's now.
        assert Nx.to_number(Nx.sum(one)) == 3
      end

      test "ends without it where the pool tracks nothing", context do
        {%{one: one}, node} = context.make.(context.pool.([]))
        assert_receive {:nodedown, ^node}, 30_000
        assert_raise NxVulkanGo.Error, fn -> Nx.to_flat_list(one) end
      end
    end
  end
end
