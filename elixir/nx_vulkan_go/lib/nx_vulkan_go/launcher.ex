defmodule NxVulkanGo.Launcher do
  @moduledoc """
  Starts and restarts a server for this VM, where no other server is configured.

  The first operation that needs a server starts `nxvk-node` on the loopback interface, with a
  random name and a random cookie. The server watches its standard input, so it ends when this
  VM ends, even by a crash. A server that dies is started again: at once the first time, then
  after longer and longer pauses.

  The program is the first of:

    * `config :nx_vulkan_go, binary: "/path/to/nxvk-node"`
    * the environment variable `NXVK_NODE`
    * `nxvk-node` in the `PATH`
    * the result of `go build` in `priv/bin`, where `go` is installed and this package lies in
      a checkout of its repository
    * `priv/bin/nxvk-node` of this package, where `NxVulkanGo.Installer.into_release/1` has put it
    * the program that has been installed before, and otherwise its archive, which is downloaded:
      see `NxVulkanGo.Installer`

  The first build takes minutes, a download seconds. Standard error shows the progress; in
  Livebook the cell that waits shows it. Warnings and errors of the server are logged.

  Where no server can be started, the operation raises `NxVulkanGo.Error` of kind
  `:not_installed`, `:cannot_build`, `:no_device` or `:not_started`. The kind is `:incompatible`
  where the program, or a server that runs elsewhere, has another version than this package.

  ## Distribution

  A VM without a node name stays without one. This package then speaks the distribution
  protocol itself, so scripts, `mix run`, IEx and releases need no preparation. A VM with a
  name of the server's kind (`--sname` or `--name`, Livebook) uses its own distribution.

  Options in the configuration of `:nx_vulkan_go`:

    * `:server` - the name of a node that runs elsewhere; this VM then starts none
    * `:cookie` - the cookie of that node, and of the nodes of `:mesh`, where it differs from the VM's
    * `:tls` - options of `:ssl.connect/3` for such a node with `--tls-cert`:
      `[cacertfile: "ca.pem", certfile: "client.pem", keyfile: "client.key"]`. A VM that runs
      with `-proto_dist inet_tls` needs none
    * `:distribution` - with `:own` this package makes its own connection even where the VM has
      a node name (default: `:vm`)
    * `:binary` - the path of the program, see above
    * `:install`, `:base_url`, `:install_dir` - see `NxVulkanGo.Installer`
    * `:allow_shaders` - whether the server accepts SPIR-V of its clients, which can crash a
      driver (default: `false`; the application `:nx_vulkan` sets it)
    * `:matrix` - how products of bf16, f16, s8 and u8 are summed: `:hardware` (default), by
      matrix hardware where the GPU has it, or `:ordered`, in the order of the terms. Sums are
      f32 either way; those of hardware are within 2 (K + 8) 2^-24 of the sum of the magnitudes
      of their K terms
    * `:node_args` - more arguments for `nxvk-node run`, a list of strings
    * `:start_timeout` - milliseconds in which the server must be ready (default: 60,000)
  """

  use GenServer
  require Logger

  alias NxVulkanGo.{Configuration, Distribution, Error}
  alias NxVulkanGo.Launcher.{Executable, Output}

  @first_pause 100
  @longest_pause 10_000
  # A server that ran so long has not failed at once.
  @settled 10_000
  # Starting a server may include building or downloading it.
  @call_timeout :timer.minutes(30)
  # Atoms are never freed, so servers that follow each other share eight names.
  @names 8
  # The exit statuses of a server: its arguments are wrong, there is no device as they require,
  # its port or the address cannot be used.
  @usage 2
  @no_device 3
  @no_network 4
  # Erlang's statuses of a program that the system does not execute are errno of the call. Such a
  # program says nothing, as one with wrong arguments does.
  @not_executable 8
  @no_loader 2
  # The status of a program that a signal has ended is this and the number of the signal.
  @signal 128

  defstruct [
    :port,
    :os_pid,
    :program,
    :node,
    :timer,
    :name,
    :cookie,
    starts: 0,
    since: 0,
    pause: 0,
    waiting: [],
    partial: "",
    said: []
  ]

  @doc false
  def start_link(_), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "Returns the name of the running server; starts it first where it does not run."
  @spec ensure!() :: node
  def ensure! do
    case GenServer.call(__MODULE__, {:ensure, Process.group_leader()}, @call_timeout) do
      {:ok, node} -> node
      {:error, error} -> raise error
    end
  end

  @doc false
  # Runs `fun` with the group leader of a caller, so that its output, such as the progress
  # of a build, is shown with the caller's output: in a cell of Livebook, for example.
  def with_output_to(group_leader, fun) do
    own = Process.group_leader()
    Process.group_leader(self(), group_leader)

    try do
      fun.()
    after
      Process.group_leader(self(), own)
    end
  end

  @doc false
  # The cookie and the place of the server of this VM's own, nil for other nodes.
  def access(node) do
    case :persistent_term.get(__MODULE__, nil) do
      %{node: ^node} = access -> Map.take(access, [:cookie, :place])
      _ -> nil
    end
  end

  @doc false
  # The path of the program that this VM has started as `node`, nil for other nodes.
  def program(node) do
    case :persistent_term.get(__MODULE__, nil) do
      %{node: ^node, program: program} -> program
      _ -> nil
    end
  end

  @doc "Returns the process id of the server in the operating system, or `nil` where none runs."
  @spec os_pid() :: nil | pos_integer
  def os_pid, do: GenServer.call(__MODULE__, :os_pid)

  @impl true
  def init(_) do
    Process.flag(:trap_exit, true)
    cookie = Distribution.random_hex(24)
    # A report of an error does not show the value of a function.
    {:ok, %__MODULE__{name: Distribution.random_hex(4), cookie: fn -> cookie end}}
  end

  @impl true
  def handle_call(:os_pid, _from, state), do: {:reply, state.os_pid, state}

  def handle_call({:ensure, _group_leader}, _from, %{node: node} = state) when node != nil,
    do: {:reply, {:ok, node}, state}

  def handle_call({:ensure, group_leader}, from, state) do
    state = %{state | waiting: [from | state.waiting]}

    if state.port || state.timer,
      do: {:noreply, state},
      else: {:noreply, with_output_to(group_leader, fn -> start(state) end)}
  end

  @impl true
  def handle_info({port, {:data, {:eol, text}}}, %{port: port} = state),
    do: {:noreply, handle_line(%{state | partial: ""}, state.partial <> text)}

  def handle_info({port, {:data, {:noeol, text}}}, %{port: port} = state),
    do: {:noreply, %{state | partial: state.partial <> text}}

  def handle_info({port, {:exit_status, status}}, %{port: port} = state),
    do: handle_stop(state, status)

  def handle_info({:EXIT, port, reason}, %{port: port} = state),
    do: handle_stop(state, "its pipe: #{inspect(reason)}")

  def handle_info({:timeout, timer, :start}, %{timer: timer} = state),
    do: {:noreply, start(%{state | timer: nil})}

  def handle_info({:timeout, timer, :ready}, %{timer: timer, port: port} = state) do
    if port, do: Port.close(port)

    {:noreply,
     fail(%{state | port: nil, timer: nil}, :not_started, "nxvk-node was not ready in time")}
  end

  def handle_info(_other, state), do: {:noreply, state}

  defp handle_stop(state, how) do
    ready? = state.node != nil
    state = %{state | port: nil, os_pid: nil, node: nil}

    if ready?,
      do: {:noreply, handle_stop_of_ready(state, how)},
      else: {:noreply, handle_stop_of_starting(state, how)}
  end

  defp handle_stop_of_ready(state, how) do
    Logger.warning("nx_vulkan_go: the server stopped with #{describe_stop(how)}")
    schedule_restart(state)
  end

  defp handle_stop_of_starting(state, @no_device),
    do: fail(state, :no_device, "nxvk-node found no device as its arguments require")

  defp handle_stop_of_starting(state, how),
    do: fail(state, :not_started, describe_failure(how, state.program, state.said))

  # nxvk-node ends with 0 only when it is asked to.
  defp describe_failure(0, program, []) do
    "#{program} ended at once without a word, which nxvk-node does not do; " <>
      Executable.replacement(program)
  end

  # One sentence for each way in which a program does not start. What it said comes after.
  defp describe_failure(@no_loader, program, []) do
    "#{program} needs a loader of programs that this system lacks (glibc 2.31 on Linux); " <>
      Executable.replacement(program)
  end

  defp describe_failure(status, program, _said), do: describe_failure(status, program)

  defp describe_failure(@usage, _program),
    do: "nxvk-node does not take its arguments; correct config :nx_vulkan_go, node_args:"

  defp describe_failure(@no_network, _program),
    do: "nxvk-node cannot use the loopback interface; let this process listen on 127.0.0.1"

  defp describe_failure(@not_executable, program) do
    "#{program} is no program of this system (#{:erlang.system_info(:system_architecture)}); " <>
      Executable.replacement(program)
  end

  defp describe_failure(status, program) when is_integer(status) and status > @signal do
    "nxvk-node crashed at its start by signal #{status - @signal}; run `#{program} doctor`, which looks at the " <>
      "drivers one by one, and config :nx_vulkan_go, node_args: [\"--device\", \"host\"] starts it without them"
  end

  defp describe_failure(how, program) do
    "nxvk-node stopped at its start with #{describe_stop(how)}; run `#{program} doctor`, which says what to mend"
  end

  defp describe_stop(status) when is_integer(status), do: "status #{status}"
  defp describe_stop(text), do: text

  ## Starting

  defp start(state) do
    node = "nxvk_#{state.name}_#{rem(state.starts, @names)}@#{Distribution.loopback()}"
    program = Executable.find!()
    state = %{state | program: program}
    port = open(program, node, state.cookie.())
    os_pid = with {:os_pid, os_pid} <- Port.info(port, :os_pid), do: os_pid
    timeout = Configuration.get(:start_timeout, 60_000)
    timer = :erlang.start_timer(timeout, self(), :ready)
    starts = state.starts + 1
    %{state | port: port, os_pid: os_pid, timer: timer, said: [], since: now(), starts: starts}
  rescue
    error in [Error, ArgumentError] -> fail(state, error)
  end

  defp matrix(:hardware), do: []
  defp matrix(:ordered), do: ["--matrix", "ordered"]

  @doc false
  # The arguments of the program, by the configuration.
  def arguments(node) do
    ["run", "--name", "#{node}", "--listen", "127.0.0.1", "--port", "0", "--exit-on-eof"] ++
      if(Configuration.get(:allow_shaders), do: ["--allow-shaders"], else: []) ++
      matrix(Configuration.get(:matrix, :hardware)) ++
      Configuration.get(:node_args, [])
  end

  defp open(binary, node, cookie) do
    Port.open({:spawn_executable, binary}, [
      :binary,
      :exit_status,
      :stderr_to_stdout,
      line: 16_384,
      args: arguments(node),
      env: [{~c"NXVK_COOKIE", String.to_charlist(cookie)}]
    ])
  rescue
    error in ErlangError ->
      raise Error.new(:not_started, describe_refusal(error.original, binary))
  end

  defp describe_refusal(:eacces, binary),
    do:
      "#{binary} cannot be executed; give it the right by chmod +x, or #{Executable.replacement(binary)}"

  defp describe_refusal(reason, binary),
    do: "#{binary} cannot be started (#{inspect(reason)}); #{Executable.replacement(binary)}"

  defp handle_line(state, "nxvk ready " <> rest) do
    [name, port | _] = String.split(rest)
    :erlang.cancel_timer(state.timer)
    node = String.to_atom(name)
    place = {{127, 0, 0, 1}, String.to_integer(port)}
    access = %{node: node, place: place, cookie: state.cookie, program: state.program}
    :persistent_term.put(__MODULE__, access)
    for from <- state.waiting, do: GenServer.reply(from, {:ok, node})
    %{state | node: node, timer: nil, waiting: []}
  end

  defp handle_line(state, text) do
    {level, text} = Output.parse(text)
    Logger.log(level, "nxvk-node: " <> text)
    %{state | said: Enum.take([text | state.said], 10)}
  end

  defp fail(state, kind, reason) do
    said = state.said |> Enum.reverse() |> Enum.map_join(&("\n    " <> &1))
    fail(state, Error.new(kind, reason <> said))
  end

  defp fail(state, error) do
    if state.timer, do: :erlang.cancel_timer(state.timer)
    for from <- state.waiting, do: GenServer.reply(from, {:error, error})
    %{state | timer: nil, waiting: [], said: []}
  end

  # A server that was ready and stopped is started again without being asked.
  defp schedule_restart(state) do
    pause = if now() - state.since > @settled, do: 0, else: state.pause
    timer = :erlang.start_timer(pause, self(), :start)
    %{state | timer: timer, pause: min(max(pause * 2, @first_pause), @longest_pause)}
  end

  defp now, do: System.monotonic_time(:millisecond)
end
