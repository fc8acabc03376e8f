defmodule NxVulkanGo.Eventually do
  @moduledoc false
  # Waits for a condition that something else brings about, and of which no message tells: a
  # state of the server, such as the sessions that it has.

  @doc "Returns the value of `fun` once it is true; the test fails where it never is."
  def eventually(fun, tries \\ 3000) do
    cond do
      result = fun.() -> result
      tries == 0 -> ExUnit.Assertions.flunk("it did not come about")
      true -> Process.sleep(10) && eventually(fun, tries - 1)
    end
  end
end
