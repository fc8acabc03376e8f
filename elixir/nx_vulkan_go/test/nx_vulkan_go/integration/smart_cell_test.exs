if Code.ensure_loaded?(NxVulkanGo.SmartCell) do
  defmodule NxVulkanGo.Integration.SmartCellTest do
    # The smart cell as Livebook drives it.
    use ExUnit.Case, async: false

    import Kino.Test

    alias NxVulkanGo.SmartCell

    setup context do
      configure_livebook_bridge(context)
    end

    setup do
      backend = Nx.default_backend()

      global =
        {Nx.global_default_backend({Nx.BinaryBackend, []}), Nx.Defn.global_default_options([])}

      on_exit(fn ->
        Nx.global_default_backend(elem(global, 0))
        Nx.Defn.global_default_options(elem(global, 1))
        Nx.default_backend(backend)
      end)
    end

    defp source(attrs), do: SmartCell.to_source(attrs)

    test "Livebook offers the cell" do
      assert %{name: "Nx on a Vulkan device"} = SmartCell.__smart_definition__()
      assert SmartCell in Application.get_env(:kino, :smart_cell_modules)
    end

    test "a new cell writes the defaults" do
      {kino, source} = start_smart_cell!(SmartCell, %{})

      assert source == """
             Nx.global_default_backend(NxVulkanGo.Backend)
             Nx.Defn.global_default_options(compiler: NxVulkanGo)
             NxVulkanGo.overview()\
             """

      assert %{fields: %{"server" => "", "device" => 0}, devices: [], trouble: nil} =
               connect(kino)
    end

    test "each field changes the code" do
      {kino, _} = start_smart_cell!(SmartCell, %{})

      for {field, value} <- [
            {"server", " nxvk@10.0.0.7 "},
            {"device", 1},
            {"fallback", "raise"},
            {"cookie_secret", "GPU"}
          ],
          do: push_event(kino, "update", %{"field" => field, "value" => value})

      assert_smart_cell_update(kino, %{"cookie_secret" => "GPU"} = attrs, source)

      assert source == """
             Application.put_env(:nx_vulkan_go, :cookie, System.fetch_env!("LB_GPU"))
             Application.put_env(:nx_vulkan_go, :fallback, :raise)
             Nx.global_default_backend({NxVulkanGo.Backend, server: :"nxvk@10.0.0.7", device: 1})
             Nx.Defn.global_default_options(compiler: NxVulkanGo, server: :"nxvk@10.0.0.7", device: 1)
             NxVulkanGo.overview(server: :"nxvk@10.0.0.7")\
             """

      # A notebook keeps the attributes as JSON.
      {_, again} = start_smart_cell!(SmartCell, attrs)
      assert again == source
      assert source(%{"backend" => false, "compiler" => false, "overview" => false}) == ""
    end

    test "the code runs, and its options are those of the backend and the compiler" do
      {_, source} = start_smart_cell!(SmartCell, %{"device" => 0})
      assert {%NxVulkanGo.Overview{devices: [_ | _]}, _} = Code.eval_string(source)
      assert {NxVulkanGo.Backend, _} = Nx.default_backend()
      assert Nx.Defn.default_options()[:compiler] == NxVulkanGo
      assert Nx.to_number(Nx.sum(Nx.iota({10}))) == 45
    end

    test "names that are none give no code and say why" do
      for server <- [
            "nxvk",
            "a@b c",
            "@",
            "a@b@c",
            ~s|x@y"); System.halt(|,
            String.duplicate("x", 255) <> "@y"
          ] do
        assert source(%{"server" => server}) == ""
      end

      for secret <- ["gpu", "A-B", ~s|A")|],
          do: assert(source(%{"cookie_secret" => secret}) == "")

      {kino, _} = start_smart_cell!(SmartCell, %{})
      push_event(kino, "update", %{"field" => "server", "value" => "nxvk"})

      assert_broadcast_event(kino, "update", %{
        "trouble" => "The server must be the name of a node" <> _
      })
    end

    test "values that are none change nothing" do
      {kino, source} =
        start_smart_cell!(SmartCell, %{"device" => "1", "fallback" => "halt", "backend" => 1})

      assert source == source(%{})
      push_event(kino, "update", %{"field" => "device", "value" => -1})
      push_event(kino, "update", %{"field" => "device", "value" => 2})
      assert_broadcast_event(kino, "update", %{"fields" => %{"device" => 0}})
      assert_broadcast_event(kino, "update", %{"fields" => %{"device" => 2}})
    end

    test "the devices of the server are listed" do
      names =
        for d <- NxVulkanGo.devices(),
            do: %{"index" => d.index, "name" => "#{d.index}: #{d.name} (#{d.kind})"}

      {kino, _} = start_smart_cell!(SmartCell, %{})
      push_event(kino, "list", %{})
      assert_broadcast_event(kino, "devices", %{"devices" => ^names, "trouble" => nil}, 30_000)

      {kino, _} = start_smart_cell!(SmartCell, %{"server" => "nobody@127.0.0.1"})
      push_event(kino, "list", %{})
      assert_broadcast_event(kino, "devices", %{"devices" => [], "trouble" => trouble}, 30_000)
      assert trouble =~ "nobody@127.0.0.1"
    end

    test "the form sets texts and values, never HTML" do
      script = File.read!("lib/nx_vulkan_go/integration/smart_cell/main.js")
      refute script =~ ~r/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/

      for field <- ~w(server cookie_secret device backend compiler fallback overview),
          do: assert(script =~ ~s|("#{field}"|)
    end
  end
else
  defmodule NxVulkanGo.Integration.SmartCellTest do
    use ExUnit.Case, async: false

    @tag skip: "kino is not a dependency of this build"
    test "a new cell writes the defaults"
  end
end
