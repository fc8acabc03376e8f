defmodule NxVulkanGo.Launcher.Build do
  @moduledoc false
  # Builds the program with Go from the checkout that this package lies in. Go knows
  # whether the sources have changed, so every start builds. A build that takes long
  # shows its progress on standard error.

  alias NxVulkanGo.Error

  # Milliseconds without output: a build without changes ends sooner.
  @quiet 2_000
  # Milliseconds between lines of progress, where it cannot be shown in one line.
  @pause 10_000

  @doc "Builds `./cmd/NAME` of the checkout `root` as the file `target`; shows progress after `quiet` ms."
  @spec run!(Path.t(), Path.t(), String.t(), Path.t(), non_neg_integer) :: Path.t()
  def run!(go, root, name, target, quiet \\ @quiet) do
    compiler!(go, root)
    File.mkdir_p!(Path.dirname(target))
    args = ["build", "-v", "-o", target, "./cmd/#{name}"]

    case follow(port(go, root, args), name, quiet) do
      {0, _} -> target
      {_, said} -> raise Error.new(:cannot_build, "building #{name} failed:\n" <> said)
    end
  end

  # Without a C compiler Go builds another program, which calls Vulkan without C, and does not say so.
  defp compiler!(go, root) do
    case System.cmd(go, ["env", "CGO_ENABLED"], cd: root, env: env(), stderr_to_stdout: true) do
      {"0" <> _, 0} -> unless System.get_env("CGO_ENABLED") == "0", do: raise(no_compiler())
      {_, 0} -> :ok
      {said, _} -> raise Error.new(:cannot_build, "go env failed:\n" <> said)
    end
  end

  defp no_compiler do
    Error.new(:cannot_build, """
    there is no C compiler, with which nxvk-node calls Vulkan. Install one:

        #{install(:os.type())}

    or set CGO_ENABLED=0 in the environment to build nxvk-node without C\
    """)
  end

  @installers [
    {"apt-get", "sudo apt-get install gcc libc6-dev"},
    {"dnf", "sudo dnf install gcc glibc-devel"},
    {"apk", "sudo apk add gcc musl-dev"},
    {"pacman", "sudo pacman -S gcc"},
    {"zypper", "sudo zypper install gcc glibc-devel"}
  ]

  defp install({:unix, :darwin}), do: "xcode-select --install"
  defp install({:unix, :freebsd}), do: "pkg install llvm"

  defp install(_system) do
    Enum.find_value(@installers, "gcc, by the package manager of this system", fn {name, line} ->
      System.find_executable(name) && line
    end)
  end

  # Some systems keep go from fetching the release that go.mod asks for.
  defp env, do: [{"GOTOOLCHAIN", System.get_env("GOTOOLCHAIN") || "auto"}]

  defp port(go, root, args) do
    Port.open({:spawn_executable, go}, [
      :binary,
      :exit_status,
      :stderr_to_stdout,
      line: 16_384,
      cd: root,
      args: args,
      env: for({name, value} <- env(), do: {~c"#{name}", ~c"#{value}"})
    ])
  end

  ## Progress

  defp follow(port, name, quiet) do
    now = now()
    state = %{port: port, name: name, since: now, next: now + quiet, told: false, count: 0}
    follow(Map.merge(state, %{last: "", said: []}))
  end

  defp follow(state) do
    wait = state.next - now()
    if wait <= 0, do: state |> tell() |> follow(), else: follow(state, wait)
  end

  defp follow(%{port: port} = state, wait) do
    receive do
      {^port, {:data, {_, text}}} ->
        state |> note_line(text) |> follow()

      {^port, {:exit_status, status}} ->
        if state.told, do: IO.puts(:stderr, final_line(state, status))
        {status, state.said |> Enum.reverse() |> Enum.join("\n")}
    after
      wait -> follow(state)
    end
  end

  # Go names each package when it has been compiled.
  defp note_line(state, text) do
    package? = text =~ ~r"^[\w./@~+-]+$"

    %{
      state
      | count: if(package?, do: state.count + 1, else: state.count),
        last: text,
        said: Enum.take([text | state.said], 200)
    }
  end

  defp tell(%{told: false} = state) do
    IO.puts(:stderr, "nx_vulkan_go: building #{state.name}; the first time takes some minutes")
    tell(%{state | told: true})
  end

  defp tell(state) do
    if IO.ANSI.enabled?(),
      do: IO.write(:stderr, "\r\e[K" <> String.slice(progress(state), 0, 78)),
      else: IO.puts(:stderr, progress(state))

    %{state | next: now() + if(IO.ANSI.enabled?(), do: 500, else: @pause)}
  end

  defp progress(state),
    do: "nx_vulkan_go: #{state.count} packages in #{seconds(state)} s; #{state.last}"

  defp final_line(state, status) do
    first = if IO.ANSI.enabled?(), do: "\r\e[K", else: ""
    how = if status == 0, do: "has been built", else: "could not be built"
    "#{first}nx_vulkan_go: #{state.name} #{how}: #{state.count} packages in #{seconds(state)} s"
  end

  defp seconds(state), do: div(now() - state.since, 1000)
  defp now, do: System.monotonic_time(:millisecond)
end
