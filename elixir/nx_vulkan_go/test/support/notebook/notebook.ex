defmodule NxVulkanGo.Notebook do
  @moduledoc false
  # A VM like the standalone runtime of Livebook, and cells that it evaluates.
  #
  # As Livebook does it: `elixir` is started with the flags below and the code to run as
  # text; that gives the VM a long name, with an epmd module of its own that needs no epmd.
  # Cells are evaluated with `Code.eval_quoted_with_env/4` by a process of their own, whose
  # group leader takes what they print; what goes to standard error goes to the group leader
  # of its sender. The binding and the process dictionary go from cell to cell. A cell that
  # runs again first deletes the modules that it has defined. A reconnection kills the
  # evaluator, and the next one has an empty binding.

  alias NxVulkanGo.Notebook.{Epmd, GroupLeader, StandardError}

  # Of Livebook.Runtime.Standalone.
  @erl "+sbwt none +sbwtdcpu none +sbwtdio none +sssdio 128 -elixir ansi_enabled true -noinput " <>
         "-epmd_module #{Epmd}"
  @eval "System.argv() |> hd() |> Base.decode64!() |> Code.eval_string()"

  @type step ::
          {:cell, id :: atom, code :: String.t()}
          | :reconnect
          | {:kill_when, output :: String.t()}
  @type outcome ::
          %{value: String.t(), observed: term, output: String.t()}
          | %{error: String.t(), output: String.t()}

  @doc """
  Runs the steps in a VM, and returns what has become of each cell, by its id.

  `{:kill_when, text}` before a cell kills its evaluator as soon as it prints the text.
  Options are `:env`, the environment of the VM, `:paths`, its code path, and `:touch`,
  `{text, path}`: the file is made as soon as a cell prints the text; and `:observe`, a module
  and the name of its function, whose answer for the value of a cell is `:observed`.
  """
  @spec run!(Path.t(), [step], keyword) :: %{atom => outcome}
  def run!(dir, steps, options \\ []) do
    [input, output] = for name <- ["cells", "outcomes"], do: Path.join(dir, name)
    File.write!(input, :erlang.term_to_binary({steps, options[:touch], options[:observe]}))
    paths = Enum.map(options[:paths] || :code.get_path(), &to_string/1)
    paths = for path <- paths, arg <- ["-pa", path], do: arg
    flags = ["--hidden", "--cookie", "notebook", "--eval", @eval, program(input, output)]
    env = options[:env] || []

    {text, status} =
      System.cmd("elixir", ["--erl", @erl] ++ paths ++ flags,
        env: env,
        cd: dir,
        stderr_to_stdout: true
      )

    if status != 0, do: raise("the notebook's VM ended with #{status}:\n#{text}")
    output |> File.read!() |> :erlang.binary_to_term()
  end

  defp program(input, output) do
    node = :"livebook_#{NxVulkanGo.Distribution.random_hex(4)}--runtime@127.0.0.1"

    quote do
      {:ok, _} = :net_kernel.start(unquote(node), %{name_domain: :longnames})
      {:ok, _} = Application.ensure_all_started([:logger, :nx_vulkan_go])
      unquote(__MODULE__).main(unquote(input), unquote(output))
      System.halt()
    end
    |> Macro.to_string()
    |> Base.encode64()
  end

  ## In the VM

  @doc false
  def main(input, output) do
    {steps, touch, observe} = input |> File.read!() |> :erlang.binary_to_term()
    Process.put(:observe, observe)
    Code.compiler_options(ignore_module_conflict: true)
    StandardError.install()

    {_evaluator, outcomes, _kill_when} =
      Enum.reduce(steps, {start(touch), %{}, nil}, &step(&1, &2, touch))

    File.write!(output, :erlang.term_to_binary(outcomes))
  end

  defp step({:kill_when, text}, {evaluator, outcomes, _}, _touch), do: {evaluator, outcomes, text}

  defp step(:reconnect, {evaluator, outcomes, _}, touch) do
    stop(evaluator)
    {start(touch), outcomes, nil}
  end

  defp step({:cell, id, code}, {evaluator, outcomes, kill_when}, _touch) do
    GroupLeader.kill_when(evaluator.group_leader, evaluator.pid, kill_when)
    send(evaluator.pid, {:evaluate, self(), id, code})
    monitor = evaluator.monitor

    outcome =
      receive do
        {:evaluated, ^id, outcome} -> outcome
        {:DOWN, ^monitor, _, _, reason} -> %{error: inspect(reason)}
      end

    output = GroupLeader.take(evaluator.group_leader)
    {evaluator, Map.put(outcomes, id, Map.put(outcome, :output, output)), nil}
  end

  defp start(touch) do
    {:ok, group_leader} = GroupLeader.start(touch)
    observe = Process.get(:observe)
    {pid, monitor} = spawn_monitor(fn -> init(group_leader, observe) end)
    %{pid: pid, monitor: monitor, group_leader: group_leader}
  end

  # It may have been killed before.
  defp stop(%{pid: pid, monitor: monitor}) do
    Process.demonitor(monitor, [:flush])
    gone = Process.monitor(pid)
    Process.exit(pid, :kill)
    receive do: ({:DOWN, ^gone, _, _, _} -> :ok)
  end

  ## The evaluator

  defp init(group_leader, observe) do
    Process.group_leader(self(), group_leader)
    Process.put(:observe, observe)
    loop([], Code.env_for_eval([]), %{})
  end

  defp loop(binding, env, modules) do
    receive do
      {:evaluate, from, id, code} ->
        for module <- Map.get(modules, id, []), do: :code.purge(module) && :code.delete(module)
        :erlang.garbage_collect()
        env = %{env | file: "/notebook.livemd#cell:#{id}", context_modules: []}
        {outcome, binding, env} = evaluate(code, binding, env)
        send(from, {:evaluated, id, outcome})
        loop(binding, env, Map.put(modules, id, env.context_modules))
    end
  end

  defp evaluate(code, binding, env) do
    quoted = Code.string_to_quoted!(code, file: env.file)
    {value, new, env} = Code.eval_quoted_with_env(quoted, binding, env, prune_binding: true)
    {%{value: inspect(value), observed: observe(value)}, Keyword.merge(binding, new), env}
  catch
    kind, reason ->
      {%{error: Exception.format(kind, reason, __STACKTRACE__)}, binding, env}
  end

  defp observe(value) do
    with {module, function} <- Process.get(:observe), do: apply(module, function, [value])
  end
end

defmodule NxVulkanGo.Notebook.Epmd do
  @moduledoc false
  # The epmd module of the VM: its own name is registered nowhere, others are looked up as
  # usual.

  defdelegate start_link(), to: :erl_epmd
  defdelegate address_please(name, host, family), to: :erl_epmd
  defdelegate listen_port_please(name, host), to: :erl_epmd
  defdelegate names(host), to: :erl_epmd
  defdelegate port_please(name, host), to: :erl_epmd
  defdelegate port_please(name, host, timeout), to: :erl_epmd

  def register_node(name, port), do: register_node(name, port, :inet)
  def register_node(_name, _port, _family), do: {:ok, -1}
end

defmodule NxVulkanGo.Notebook.GroupLeader do
  @moduledoc false
  # An IO device that keeps what is printed and takes the outputs of Kino, as Livebook's does.
  # It refuses everything else.
  use GenServer

  def start(touch), do: GenServer.start(__MODULE__, touch)

  @doc "What has been printed; forgets it."
  def take(device), do: GenServer.call(device, :take)

  @doc "Kills a process as soon as the text is printed; never, where that is nil."
  def kill_when(device, pid, text), do: GenServer.call(device, {:kill_when, pid, text})

  @impl true
  def init(touch), do: {:ok, %{touch: touch, kill: nil, text: ""}}

  @impl true
  def handle_call(:take, _from, state), do: {:reply, state.text, %{state | text: ""}}

  def handle_call({:kill_when, pid, text}, _from, state),
    do: {:reply, :ok, %{state | kill: text && {text, pid}}}

  @impl true
  def handle_info({:io_request, from, tag, request}, state) do
    {reply, state} = request(request, state)
    send(from, {:io_reply, tag, reply})
    {:noreply, state}
  end

  defp request({:put_chars, encoding, chars}, state), do: {:ok, print(chars, encoding, state)}

  defp request({:put_chars, encoding, module, fun, args}, state),
    do: {:ok, print(apply(module, fun, args), encoding, state)}

  defp request({:livebook_put_output, _output}, state), do: {:ok, state}
  defp request(:getopts, state), do: {[binary: true, encoding: :unicode], state}
  defp request({:get_geometry, _}, state), do: {{:error, :enotsup}, state}
  defp request(_other, state), do: {{:error, :request}, state}

  defp print(chars, encoding, state) do
    state = %{state | text: state.text <> :unicode.characters_to_binary(chars, encoding)}
    if state.touch && state.text =~ elem(state.touch, 0), do: File.touch!(elem(state.touch, 1))

    if state.kill && state.text =~ elem(state.kill, 0),
      do: Process.exit(elem(state.kill, 1), :kill)

    state
  end
end

defmodule NxVulkanGo.Notebook.StandardError do
  @moduledoc false
  # Standard error of the VM: hands requests to the group leader of their sender.

  def install do
    pid = spawn(&loop/0)
    Process.unregister(:standard_error)
    Process.register(pid, :standard_error)
  end

  defp loop do
    receive do
      {:io_request, from, tag, request} ->
        {:group_leader, group_leader} = Process.info(from, :group_leader)
        send(group_leader, {:io_request, from, tag, request})
    end

    loop()
  end
end
