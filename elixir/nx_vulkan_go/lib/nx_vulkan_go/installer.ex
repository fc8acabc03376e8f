defmodule NxVulkanGo.Installer do
  @moduledoc """
  Installs the `nxvk-node` that belongs to this package.

  A release of this package knows the archives of `nxvk-node` for Linux, FreeBSD, macOS and
  Windows, and the SHA-256 of each. The first operation that needs a server and finds no
  program (see `NxVulkanGo.Launcher`) downloads the archive of this system, compares its sum,
  and puts the program into the user's cache, where all projects find it. This takes place
  once, and one process at a time.

  `mix nx_vulkan_go.install` does the same ahead of time: in a build of a container, for
  example. `install!/1` is for scripts and notebooks.

  ## Configuration

  Keys of `config :nx_vulkan_go`:

    * `:install` - with `false` nothing is downloaded unless `mix nx_vulkan_go.install` is run
      (default: `true`)
    * `:base_url` - the folder that has the archives, a URL of `https`, `http` or `file`:
      `"https://mirror.example/nxvk/0.2.0"` or `"file:///srv/nxvk"`. A mirror has the files of
      the release under their names (default: the release at its publisher)
    * `:install_dir` - the folder for programs (default: `nxvk/node` in the user's cache)

  Where `config :nx_vulkan_go, server:` names a server, nothing is downloaded.

  The environment is that of other programs: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name
  proxies, and certificates are those of the system. `NXVK_ARCHIVE` names the file of an
  archive on a machine without a network. Its sum is compared, too.

  ## Releases

  A release made by `mix release` downloads nothing when it runs. A step copies the program
  into it:

      releases: [
        my_app: [steps: [:assemble, &NxVulkanGo.Installer.into_release/1]]
      ]

  ## A checkout of the repository

  It has no sums before `make release` has written `priv/checksums.txt`. There the program is
  built with Go, see `NxVulkanGo.Launcher`.
  """

  alias NxVulkanGo.{Error, Options}
  alias NxVulkanGo.Installer.{Checksums, Download, Lock, Platform}

  @source "https://github.com/nxvk/nxvk/releases/download"

  @doc """
  Installs the program unless it is installed, and returns its path.

  With `force: true` it is installed again. Raises `NxVulkanGo.Error` of kind `:not_installed`,
  which says what to do.
  """
  @spec install!(keyword) :: Path.t()
  def install!(options \\ []) do
    archive = archive!(options)
    force? = options[:force] || false

    if File.exists?(archive.program) and not force?,
      do: archive.program,
      else: install_alone!(archive, force?, options)
  end

  @doc "Returns the path of the installed program, or nil."
  @spec installed(keyword) :: Path.t() | nil
  def installed(options \\ []) do
    with %{program: program} <- find(options),
         true <- File.exists?(program),
         do: program,
         else: (_ -> nil)
  end

  @doc "Whether this package knows archives; a checkout may not."
  @spec archives?() :: boolean
  def archives?, do: Checksums.read() != []

  @doc """
  Copies the program into a release: a step of `mix release`, after `:assemble`.
  """
  @spec into_release(Mix.Release.t()) :: Mix.Release.t()
  def into_release(%{path: path, applications: %{nx_vulkan_go: app}} = release) do
    to = Path.join([path, "lib", "nx_vulkan_go-#{app[:vsn]}", "priv", "bin", Platform.program()])
    File.mkdir_p!(Path.dirname(to))
    File.cp!(install!(), to)
    release
  end

  @doc false
  # Whether this VM is a release of mix release, which has this package in its folder.
  def release? do
    root = System.get_env("RELEASE_ROOT")
    root not in [nil, ""] and String.starts_with?(Application.app_dir(:nx_vulkan_go), root <> "/")
  end

  ## The archive

  # The archive of this system: its name, version, sum, and where its program goes.
  defp archive!(options) do
    find(options) ||
      if Checksums.read(checksums(options)) == [],
        do: raise(no_archives()),
        else: raise(Platform.unknown(system(options)))
  end

  defp find(options) do
    entries = Checksums.read(checksums(options))
    entry = entries != [] && Enum.find(entries, &(&1.system == system(options)))

    if entry do
      # The sum is in the name, so that no other build of a version is taken for this one.
      folder = "#{entry.version}_#{entry.system}_#{binary_part(entry.sum, 0, 12)}"
      program = Path.join([install_dir(options), folder, Platform.program()])
      Map.merge(entry, %{program: program, others: entries})
    end
  end

  defp checksums(options), do: options[:checksums] || Checksums.path()
  defp system(options), do: options[:system] || Platform.name!()

  defp no_archives do
    Error.new(:not_installed, """
    this nx_vulkan_go is of a checkout, which knows no archives of nxvk-node; install Go, which then builds it, \
    or run make release, which writes priv/checksums.txt\
    """)
  end

  defp install_dir(options) do
    options[:install_dir] || Options.install_dir() ||
      Path.join(:filename.basedir(:user_cache, "nxvk"), "node")
  end

  ## Installing

  defp install_alone!(archive, force?, options) do
    dir = Path.dirname(archive.program)
    writable!(dir, File.mkdir_p(dir))

    Lock.run(Path.join(dir, "lock"), &tell_waiting/0, fn waited? ->
      if File.exists?(archive.program) and (waited? or not force?),
        do: archive.program,
        else: fetch!(archive, dir, options)
    end)
  rescue
    error in File.Error -> reraise Download.unwritten(error.path, error.reason), __STACKTRACE__
  end

  defp writable!(_path, :ok), do: :ok
  defp writable!(path, {:error, reason}), do: raise(Download.unwritten(path, reason))

  defp tell_waiting do
    IO.puts(:stderr, "nx_vulkan_go: waiting for another process that installs nxvk-node")
  end

  # The file of an unfinished download is removed, so a later one begins anew.
  defp fetch!(archive, dir, options) do
    part = Path.join(dir, "archive.#{NxVulkanGo.Distribution.random_hex(4)}")

    try do
      {from, sum} = get!(archive, part, options)
      compare!(archive, from, sum)
      put!(archive, unpack!(archive, from, part), dir)
    after
      File.rm(part)
    end
  end

  defp get!(archive, part, options) do
    case options[:archive] || System.get_env("NXVK_ARCHIVE") do
      file when file in [nil, ""] ->
        base = options[:base_url] || Options.base_url() || "#{@source}/v#{archive.version}"
        url = String.trim_trailing(base, "/") <> "/" <> archive.name
        IO.puts(:stderr, "nx_vulkan_go: fetching #{url}")
        {url, Download.run!(url, part, options)}

      file ->
        {file, copy!(file, part)}
    end
  end

  defp copy!(file, part) do
    unless File.regular?(file) do
      raise Error.new(
              :not_installed,
              "there is no archive #{file}; correct NXVK_ARCHIVE, or unset it"
            )
    end

    writable!(part, File.cp(file, part))
    Download.sum!(part)
  end

  defp compare!(%{sum: sum}, _from, sum), do: :ok

  defp compare!(archive, from, sum) do
    case Enum.find(archive.others, &(&1.sum == sum)) do
      nil ->
        raise Error.new(:not_installed, """
              #{from} is damaged or of another release: its SHA-256 is #{sum}, and that of #{archive.name} is \
              #{archive.sum}; get it again from the release v#{archive.version}\
              """)

      other ->
        raise Error.new(:not_installed, """
              #{from} is #{other.name}, the archive for another system (SHA-256 #{sum}); this one needs \
              #{archive.name} (#{archive.sum})\
              """)
    end
  end

  defp unpack!(archive, from, part) do
    name = String.to_charlist(Platform.program())

    result =
      if String.ends_with?(archive.name, ".zip"),
        do: :zip.extract(String.to_charlist(part), [:memory, file_list: [name]]),
        else: :erl_tar.extract(String.to_charlist(part), [:compressed, :memory, files: [name]])

    case result do
      {:ok, [{^name, program}]} ->
        program

      _ ->
        raise Error.new(
                :not_installed,
                "#{from} has no #{name}; get it again from the release v#{archive.version}"
              )
    end
  end

  # The program comes to its place as a whole.
  defp put!(archive, program, dir) do
    own = Path.join(dir, "program.#{NxVulkanGo.Distribution.random_hex(4)}")

    try do
      writable!(own, File.write(own, program, [:sync]))
      writable!(own, File.chmod(own, 0o755))
      writable!(archive.program, File.rename(own, archive.program))
    after
      File.rm(own)
    end

    archive.program
  end
end
