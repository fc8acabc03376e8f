defmodule NxVulkanGo.InstallerCase do
  # Tests of the installer: a release of this test, and a cache in its folder.
  use ExUnit.CaseTemplate

  import ExUnit.CaptureIO

  alias NxVulkanGo.{Error, Installer, Mirror}
  alias NxVulkanGo.Installer.Platform

  @variables ~w(NXVK_ARCHIVE HTTP_PROXY http_proxy HTTPS_PROXY https_proxy NO_PROXY no_proxy)

  using do
    quote do
      import NxVulkanGo.InstallerCase

      @moduletag :tmp_dir
    end
  end

  setup %{tmp_dir: dir} do
    kept = for name <- @variables, do: {name, System.get_env(name)}
    for name <- @variables, do: System.delete_env(name)
    on_exit(fn -> for {name, "" <> value} <- kept, do: System.put_env(name, value) end)
    # Of no use compressed, so that a part of the archive is some of it.
    program = "#!/bin/sh\n# " <> Base.encode64(:crypto.strong_rand_bytes(200_000)) <> "\n"
    {bytes, line} = Mirror.archive(dir, archive(), program)
    {other, other_line} = Mirror.archive(dir, foreign(), "other")
    sums = Path.join(dir, "checksums.txt")

    File.write!(
      sums,
      line <> other_line <> String.duplicate("0", 64) <> "  nxvk-node_1.2.3_linux_amd64.deb\n"
    )

    cache = Path.join(dir, "cache")
    options = [checksums: sums, install_dir: cache, pause: 0]
    {:ok, bytes: bytes, other: other, program: program, cache: cache, options: options}
  end

  # The archives of this system and of another one.
  def archive, do: "nxvk-node_1.2.3_#{Platform.name!()}.tar.gz"
  def foreign, do: "nxvk-node_1.2.3_plan9_mips.tar.gz"

  # What standard error had comes with the value.
  def install(options) do
    parent = self()

    text =
      capture_io(:stderr, fn ->
        send(
          parent,
          {:installed, try(do: Installer.install!(options), rescue: (error in Error -> error))}
        )
      end)

    assert_receive {:installed, outcome}
    {outcome, text}
  end

  def from(mirror, context), do: [base_url: mirror.url <> "/v1"] ++ context.options
  def count(mirror), do: length(Mirror.asked(mirror))

  # No part of a download is left, and no lock.
  def clean!(cache) do
    names =
      for path <- Path.wildcard(cache <> "/**", match_dot: true),
          File.regular?(path),
          do: Path.basename(path)

    assert names -- ["nxvk-node"] == []
  end

  def refused!(options, pattern) do
    {%Error{kind: :not_installed} = error, text} = install(options)
    assert error.reason =~ pattern
    clean!(options[:install_dir])
    text
  end
end
