defmodule NxVulkanGo.GuidesTest do
  # Every example of the guides and of the livebooks that need no other package, in a VM of
  # its own for each document, with the configuration of a user.
  use ExUnit.Case, async: false

  alias NxVulkanGo.{Distribution, Launcher, Notebook, Served}
  alias NxVulkanGo.Notebook.Document

  @moduletag :tmp_dir
  @moduletag :launched

  @remote "guides/remote_gpus.md"
  @guides Path.wildcard("guides/*.md")
  @documents ["livebooks/introduction.livemd" | @guides]

  for path <- @documents do
    @tag document: path
    test "the examples of #{path} run", %{tmp_dir: dir, document: path} do
      document = Document.read!(path)
      assert document.packages in [[], [:nx_vulkan_go]]
      outcomes = Notebook.run!(dir, document.steps, env: [{"NXVK_CHECK", nil}])
      assert Document.faults(document, outcomes) == []
    end
  end

  test "what is not run has a reason, and is little" do
    documents = for path <- @documents, do: {path, Document.read!(path)}
    run = for {_, document} <- documents, {:cell, _, _} <- document.steps, do: 1

    skipped =
      for {path, document} <- documents, {line, reason} <- document.skipped do
        assert String.length(reason) > 10, "#{path}:#{line} is not run: #{reason}"
        {path, line, reason}
      end

    IO.puts("guides: #{length(run)} examples run, #{length(skipped)} do not:")
    for {path, line, reason} <- skipped, do: IO.puts("  #{path}:#{line}: #{reason}")
    assert length(run) > 3 * length(skipped)
  end

  # The page's commands and configuration, with this machine in gpubox's place.
  test "the certificates of the page on remote GPUs connect a client", %{tmp_dir: dir} do
    scripts = Document.blocks!(@remote, "sh")
    [certificates] = for text <- scripts, text =~ "openssl", do: text
    [serve] = for text <- scripts, text =~ "--tls-cert", do: text
    [config] = for text <- Document.blocks!(@remote, "elixir"), text =~ "tls:", do: text
    name = "nxvk_#{Distribution.random_hex(4)}@127.0.0.1"

    if System.find_executable("openssl") do
      certificates = String.replace(certificates, "SAN=DNS:gpubox", "SAN=IP:127.0.0.1")
      {said, status} = System.cmd("sh", ["-ec", certificates], cd: dir, stderr_to_stdout: true)
      assert {said, status} == {said, 0}
      File.write!(Path.join(dir, "cookie"), "of both")
      start!(serve, name, dir)

      cells = [
        {:cell, :configure, configure(config, name)},
        {:cell, :server, "NxVulkanGo.connect()"},
        {:cell, :sum, "Nx.to_number(Nx.sum(Nx.iota({1000}, backend: NxVulkanGo.Backend)))"}
      ]

      outcomes = Notebook.run!(dir, cells)
      assert outcomes.server.value == inspect(String.to_atom(name))
      assert outcomes.sum.value == "499500"

      # Without a certificate of the authority.
      [plain | _] = Document.blocks!(@remote, "elixir")

      refused = [
        {:cell, :configure, configure(plain, name)},
        {:cell, :server, "NxVulkanGo.connect()"}
      ]

      assert Notebook.run!(dir, refused).server.error =~ "speaks TLS"
    else
      IO.puts("\nSKIP the certificates of #{@remote}: there is no openssl")
    end
  end

  defp configure(config, name) do
    config
    |> String.replace("nxvk@gpubox", name)
    |> String.replace("the text of the file", "of both")
    |> String.replace(~r/^import Config$/m, "")
    |> String.replace(~r/^config :nx, .*$/m, "")
    |> String.replace("config :nx_vulkan_go,", "Application.put_all_env nx_vulkan_go:")
    |> bracket()
  end

  # The pairs after the name of the application, as a list.
  defp bracket(text),
    do: Regex.replace(~r/(nx_vulkan_go:)(.*)/s, text, fn _, key, pairs -> "#{key} [#{pairs}]" end)

  # The server listens on loopback and on any port.
  defp start!(command, name, dir) do
    ["nxvk-node", "run" | args] = command |> String.replace("\\\n", " ") |> String.split()
    changed = %{"nxvk@gpubox" => name, "0.0.0.0" => "127.0.0.1", "9100" => "0"}
    assert {^name, _} = Served.start!(for(arg <- args, do: Map.get(changed, arg, arg)), cd: dir)
  end

  test "commands and flags of nxvk-node that documents show exist" do
    program = Launcher.Executable.find!()
    files = Mix.Project.config()[:docs][:extras] -- ["CHANGELOG.md"]

    shown =
      for path <- files,
          text = path |> File.read!() |> String.replace("\\\n", " "),
          [_, command, rest] <-
            Regex.scan(~r/nxvk-node (run|devices|doctor|bench)\b([^`\n]*)/, text),
          [_, flag] <- Regex.scan(~r/ --([a-z-]+)/, rest),
          do: {command, flag, path}

    assert length(shown) > 20

    flags =
      for command <- shown |> Enum.map(&elem(&1, 0)) |> Enum.uniq(), into: %{} do
        {help, _} = System.cmd(program, [command, "--help"], stderr_to_stdout: true)
        {command, ["help" | for([_, flag] <- Regex.scan(~r/^\s+--?([a-z-]+)/m, help), do: flag)]}
      end

    assert for({command, flag, _} = at <- shown, flag not in flags[command], do: at) == []
  end
end
