defmodule NxVulkanGo.ErrorTest do
  use ExUnit.Case, async: true

  alias NxVulkanGo.Error

  test "the end of a server is told in words, however deep the reason lies" do
    for {reason, words} <- [
          noconnection: "the server has ended, or the connection to it",
          noproc: "the server runs, and has no such process any more",
          shutdown: "it was told to stop",
          normal: "it was told to stop",
          killed: "it was killed",
          timeout: "it has not answered in time"
        ],
        wrap <- [& &1, &{:shutdown, &1}, &{:shutdown, {:shutdown, &1}}] do
      error = Error.gone(:nxvk@gpubox, wrap.(reason))
      assert error.kind == :server_down

      assert Exception.message(error) ==
               "nxvk@gpubox went away: #{words} (server_down); its tensors are lost; the next operation connects again"
    end

    assert Exception.message(Error.gone("it", {:strange, 1})) =~ "it went away: {:strange, 1} ("
  end
end
