defmodule NxVulkanGo.Session.Label do
  @moduledoc false
  # The label of this VM's sessions in reports of the server: the name of the application,
  # and which of its VMs this is.

  alias NxVulkanGo.Configuration

  @doc "Returns the label, such as `my_app of web@host (4711)` with the id of the VM's process."
  @spec text() :: String.t()
  def text, do: "#{name()} of #{place()} (#{:os.getpid()})"

  @doc "Returns the configured label, else the name of the release, the project, the script or `elixir`."
  @spec name() :: String.t()
  def name do
    to_string(Configuration.get(:label) || release() || project() || script() || "elixir")
  end

  defp release, do: System.get_env("RELEASE_NAME")

  # Mix.install names every project `mix_install`.
  defp project do
    with true <- Code.ensure_loaded?(Mix.Project) and Process.whereis(Mix.ProjectStack) != nil,
         app when app not in [nil, :mix_install] <- Mix.Project.config()[:app] do
      app
    else
      _ -> nil
    end
  end

  # The first word of the command line that is a file: `elixir -pa ebin train.exs 3`.
  defp script do
    words = for word <- :init.get_plain_arguments(), do: List.to_string(word)

    with path when path != nil <- Enum.find(words, &String.ends_with?(&1, ".exs")),
         do: Path.basename(path)
  end

  defp place do
    {:ok, host} = :inet.gethostname()
    if Node.alive?(), do: node(), else: host
  end
end
