defmodule NxVulkanGo.Sampler.NodeTest do
  # What becomes of runs when the server dies.
  use ExUnit.Case, async: false

  alias NxVulkanGo.{Error, Launcher, Sampler}

  @moduletag :launched
  @moduletag :capture_log

  defp model(data),
    do:
      Sampler.compile(
        fn q, y -> Nx.multiply(-0.5, Nx.sum(Nx.pow(Nx.subtract(q, y), 2))) end,
        0,
        data
      )

  test "the caller gets an exception, sessions are stale, and the next run works" do
    model = model(Nx.iota({100}, type: :f64))
    session = Sampler.session(model)
    # This server; what comes after it is left alone.
    victim = "#{Launcher.os_pid()}"
    kill = fn _ -> System.cmd("kill", ["-9", victim], stderr_to_stdout: true) end

    error =
      assert_raise Error, fn ->
        Sampler.nuts(session, draws: 1_000_000, chunk: 10, progress: kill)
      end

    assert error.kind in [:server_down, :stale]
    assert_raise Error, fn -> Sampler.nuts(session, draws: 10, warmup: 10) end
    assert %{draws: draws} = Sampler.nuts(model, draws: 10, warmup: 50)
    assert draws.shape == {4, 10}
    refute_received {_pid, _}
  end
end
