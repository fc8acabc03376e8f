defmodule NxVulkanGo.Launcher.ShadersTest do
  # A server that this package starts takes no code of its clients.
  use ExUnit.Case, async: true
  @moduletag :launched

  alias NxVulkanGo.{Error, Session}
  alias NxVulkanGo.Session.Registry

  test "a shader is refused, with what allows it" do
    refute Application.get_env(:nx_vulkan_go, :allow_shaders)
    session = Registry.fetch!([])
    Session.instruct(session, {:shader, [], [], ["key", <<0x07230203::32-little>>]})
    number = <<0.0::float-64-little>>
    options = %{shader: "key", k: 1, d: 1, eps: 0.1, q: number, p: number, extras: number}
    assert {:error, %Error{kind: :unsupported} = error} = Session.call(session, {:chain, options})
    assert Exception.message(error) =~ "--allow-shaders"
  end
end
