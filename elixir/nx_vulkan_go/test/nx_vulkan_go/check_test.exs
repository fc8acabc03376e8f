defmodule NxVulkanGo.CheckTest do
  # Where errors of operations are raised, and which line they name.
  use ExUnit.Case, async: false

  alias NxVulkanGo.{Check, Error}

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    mode = Check.mode()
    on_exit(fn -> Application.put_env(:nx_vulkan_go, :check, mode) end)
    t = Nx.iota({3})
    {:ok, t: t, beyond: Nx.add(Nx.tensor([7]), 0)}
  end

  defp check(mode), do: Application.put_env(:nx_vulkan_go, :check, mode)

  # The line of the first frame of this file, and the error.
  defp raised(fun) do
    fun.()
    flunk("nothing was raised")
  rescue
    error in Error ->
      here = Path.basename(__ENV__.file)

      frame =
        Enum.find(__STACKTRACE__, fn {_, _, _, at} -> Path.basename("#{at[:file]}") == here end)

      {elem(frame, 3)[:line], Exception.message(error)}
  end

  test "errors come where results are read, with the operation", %{t: t, beyond: beyond} do
    check(:none)
    bad = Nx.take(t, beyond)
    worse = Nx.exp(Nx.add(bad, 1))
    line = __ENV__.line + 1
    assert {^line, message} = raised(fn -> [Nx.to_number(worse[0])] end)
    assert message =~ ~r/^take\(s32\{3\}, s32\{1\}/
    refute message =~ "sent by"
  end

  test "each operation is waited for, and raises at its line", %{t: t, beyond: beyond} do
    check(:each)
    line = __ENV__.line + 1
    assert {^line, "take(" <> _} = raised(fn -> Nx.exp(Nx.add(Nx.take(t, beyond), 1)) end)

    compiled = Nx.Defn.jit(&Nx.take(&1, &2), compiler: NxVulkanGo)
    line = __ENV__.line + 1
    assert {^line, "take(" <> _} = raised(fn -> [compiled.(t, beyond)] end)
    assert Nx.to_number(compiled.(t, Nx.tensor([2]))[0]) == 2
    assert {a, b} = Nx.LinAlg.qr(Nx.tensor([[2.0, 0.0], [0.0, 3.0]]))
    assert Nx.to_number(Nx.sum(Nx.abs(Nx.dot(a, b)))) == 5.0
  end

  test "an upload beyond the limit of a session is raised where it is made" do
    check(:each)
    big = Nx.with_default_backend(Nx.BinaryBackend, fn -> Nx.iota({1000}) end)
    assert Nx.to_number(Nx.backend_copy(big, NxVulkanGo.Backend)[999]) == 999
  end

  test "the late error names the line that sent what failed", %{t: t, beyond: beyond} do
    check(:debug)
    {bad, line} = {Nx.take(t, beyond), __ENV__.line}
    worse = Nx.multiply(Nx.exp(bad), 2)
    assert {_, message} = raised(fn -> Nx.to_number(worse[0]) end)
    assert message =~ "take(s32{3}, s32{1}"
    assert message =~ "; sent by test/nx_vulkan_go/check_test.exs:#{line}: NxVulkanGo.CheckTest."

    compiled = Nx.Defn.jit(fn t, i -> Nx.add(Nx.take(t, i), 1) end, compiler: NxVulkanGo)
    {bad, line} = {compiled.(t, beyond), __ENV__.line}
    assert {_, message} = raised(fn -> Nx.to_number(Nx.add(bad, 1)[0]) end)
    assert message =~ "take(s32{3}, s32{1}"
    assert message =~ "; sent by test/nx_vulkan_go/check_test.exs:#{line}: "
  end

  test "what is made in many steps by Nx is sent by the caller", %{t: t} do
    check(:debug)
    singular = Nx.broadcast(Nx.tensor(1.0), {3, 3})
    {bad, line} = {Nx.LinAlg.solve(singular, Nx.as_type(t, :f32)), __ENV__.line}
    assert {_, message} = raised(fn -> Nx.to_number(bad[0]) end)
    assert message =~ "; sent by test/nx_vulkan_go/check_test.exs:#{line}: "
  end

  test "what is not known is refused" do
    check(:eech)

    assert_raise ArgumentError, ~r/check: must be one of :none, :debug, :each, got: :eech/, fn ->
      Nx.add(1, 2)
    end
  end
end
