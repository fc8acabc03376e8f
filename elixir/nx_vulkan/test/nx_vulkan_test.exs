defmodule Nx.VulkanTest do
  use ExUnit.Case, async: true
  alias Nx.Vulkan.{Node, VulkanoBackend}

  test "tensors of the old backend are tensors of ours" do
    Nx.default_backend(VulkanoBackend)
    t = Nx.tensor([1.0, 2.0, 3.0], type: :f64)
    assert %NxVulkanGo.Backend{} = t.data
    assert Nx.to_flat_list(Nx.multiply(t, Nx.iota({3}))) == [0.0, 2.0, 6.0]
    moved = Nx.backend_transfer(Nx.tensor([7], backend: Nx.BinaryBackend), VulkanoBackend)
    assert %NxVulkanGo.Backend{} = moved.data
    assert Nx.to_flat_list(Nx.backend_copy(moved, VulkanoBackend)) == [7]
    assert Nx.to_flat_list(Nx.backend_copy(moved, Nx.BinaryBackend)) == [7]
    assert %NxVulkanGo.Backend{} = Nx.eye(2).data
  end

  test "every callback of an Nx backend is there" do
    Code.ensure_loaded!(VulkanoBackend)
    Code.ensure_loaded!(NxVulkanGo.Backend)

    for {name, arity} <- Nx.Backend.behaviour_info(:callbacks),
        function_exported?(NxVulkanGo.Backend, name, arity) do
      assert function_exported?(VulkanoBackend, name, arity), "#{name}/#{arity}"
    end
  end

  test "and every one of a compiler" do
    Code.ensure_loaded!(Nx.Vulkan.Compiler)

    for {name, arity} <- Nx.Defn.Compiler.behaviour_info(:callbacks) do
      assert function_exported?(Nx.Vulkan.Compiler, name, arity), "#{name}/#{arity}"
    end
  end

  test "the device has its older names too" do
    assert Nx.Vulkan.Native.device_name() == Nx.Vulkan.device_name()
    assert Nx.Vulkan.Native.has_f64() == Nx.Vulkan.has_f64?()
    bad = Nx.Vulkan.Native.leapfrog_chain_synth(<<>>, <<>>, <<>>, <<>>, 1, "nowhere.spv")
    assert bad == {:error, :bad_input}
  end

  test "functions are compiled" do
    fun = Nx.Vulkan.jit(fn x -> Nx.sum(Nx.exp(x)) end)

    assert_in_delta Nx.to_number(fun.(Nx.tensor([0.0, 1.0], type: :f64))),
                    1 + :math.exp(1),
                    1.0e-12
  end

  test "the device says what it is" do
    assert Nx.Vulkan.init() == :ok
    assert is_binary(Nx.Vulkan.device_name())
    assert is_boolean(Nx.Vulkan.has_f64?())
    assert Node.alive?()
    assert {:ok, %{memory: %{session: %{}}, devices: [_ | _]}} = Node.status()
  end

  test "with_node/2 makes values of whatever goes wrong" do
    assert Node.with_node(fn -> :value end) == :value
    assert {:error, %RuntimeError{message: "no"}} = Node.with_node(fn -> raise "no" end)
    assert Node.with_node(fn -> exit(:gone) end) == {:error, :gone}
    assert Node.with_node(fn -> throw(:ball) end) == {:error, :ball}
    assert Node.with_node(fn -> :value end, 1000) == :value
    assert {:error, %RuntimeError{}} = Node.with_node(fn -> raise "no" end, 1000)
    assert Node.with_node(fn -> Process.sleep(:infinity) end, 10) == {:error, :node_timeout}
  end
end
