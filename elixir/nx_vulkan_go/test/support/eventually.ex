defmodule NxVulkanGo.Eventually do
  @moduledoc false
  # Waits for a condition that something else brings about.

  @doc "What `fun` gives once that is true; where it never is, the test fails."
  def eventually(fun, tries \\ 3000) do
    cond do
      result = fun.() -> result
      tries == 0 -> ExUnit.Assertions.flunk("it did not come about")
      true -> Process.sleep(10) && eventually(fun, tries - 1)
    end
  end
end
