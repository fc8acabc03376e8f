defmodule NxVulkanGo.Check do
  @moduledoc """
  Finds the line of an operation that fails.

  An operation is sent and not waited for. So its error is raised where its result, or
  anything made from it, is read. The error names the operation and its operands. To find
  the line that sent the operation:

      config :nx_vulkan_go, check: :each   # or :debug, or :none, the default

  or `NXVK_CHECK=each` in the environment, without a change of the configuration.

    * `:each` - every operation, and every call of a compiled function, waits for the device
      and raises at its own line
    * `:debug` - nothing waits. The error ends with the line that sent the operation:
      `sent by lib/my_app/model.ex:12: MyApp.Model.step/2`. That is the first stack frame
      outside of Nx, this package and Elixir. For a compiled function it is the call. For
      evaluated code, such as a Livebook cell, it is the file without the line

  The addition of two vectors of 1,000 elements on the node (two processors, no GPU) costs
  3 µs with `:none`, 13 µs with `:debug` and 54 µs with `:each`. With `:debug` and `:each`
  each operation is also a kernel of its own: operations are not fused. `:debug` raises the
  system flag `:backtrace_depth` to 64.

  The option may be changed while the VM runs, by `Application.put_env/3`.
  """

  alias NxVulkanGo.{Configuration, Session}

  @modes [:none, :debug, :each]
  @depth 64

  @type mode :: :none | :debug | :each

  @doc "Returns the configured mode."
  @spec mode() :: mode
  def mode do
    case Application.get_env(:nx_vulkan_go, :check) do
      mode when mode in [:none, :debug, :each] -> mode
      nil -> from_environment()
      other -> Configuration.valid!(:check, other)
    end
  end

  # Looked up once: afterwards it is configured.
  defp from_environment do
    text = System.get_env("NXVK_CHECK", "none")
    mode = Enum.find(@modes, &(Atom.to_string(&1) == text)) || invalid!(text)
    Application.put_env(:nx_vulkan_go, :check, mode)
    mode
  end

  defp invalid!(text),
    do: raise(ArgumentError, "NXVK_CHECK must be one of #{Enum.join(@modes, ", ")}, got: #{text}")

  @doc false
  # Precedes an instruction by a note of the caller's line, with `check: :debug`.
  def annotate(instruction) do
    with :debug <- mode(), :ok <- deepen_stacks(), text when text != nil <- location() do
      [{:note, [], [], [text]}, instruction]
    else
      _ -> [instruction]
    end
  end

  @doc false
  # Waits for the first result of an instruction, with `check: :each`; raises its error.
  def await!(session, [{id, _type, _shape} | _]) do
    if mode() == :each, do: Session.call!(session, {:download, id, 0, 1})
    :ok
  end

  def await!(_session, []), do: :ok

  @doc false
  # The line of the caller, or nil where the stack has only frames of libraries.
  def location do
    others = libraries()
    {:current_stacktrace, [_ | frames]} = Process.info(self(), :current_stacktrace)
    caller = Enum.find(frames, &(evaluation?(&1) or not is_map_key(others, elem(&1, 0))))

    case caller && evaluation?(caller) && Process.get({:elixir, :eval_env}) do
      %Macro.Env{file: file} -> file
      _ -> caller && frame_text(caller)
    end
  end

  # Evaluated code, of a Livebook cell or of IEx, calls functions through this frame. Its
  # line is in no frame; its file is in the process dictionary.
  defp evaluation?({:elixir, :eval_external_handler, _arity, _location}), do: true
  defp evaluation?(_frame), do: false

  defp frame_text({module, function, arity, location}) do
    line = Exception.format_file_line(location[:file], location[:line])
    String.trim("#{line} #{Exception.format_mfa(module, function, arity)}")
  end

  # The modules of libraries, which are not the caller's.
  defp libraries do
    with nil <- :persistent_term.get(__MODULE__, nil) do
      modules =
        for app <- [:nx, :nx_vulkan_go, :complex, :telemetry, :elixir, :iex, :stdlib, :kernel],
            {:ok, modules} <- [:application.get_key(app, :modules)],
            module <- modules,
            into: %{},
            do: {module, true}

      :persistent_term.put(__MODULE__, modules)
      modules
    end
  end

  # A stack has eight frames by default, and Nx alone may have as many.
  defp deepen_stacks do
    if not :persistent_term.get({__MODULE__, :deep}, false) do
      depth = :erlang.system_flag(:backtrace_depth, @depth)
      if depth > @depth, do: :erlang.system_flag(:backtrace_depth, depth)
      :persistent_term.put({__MODULE__, :deep}, true)
    end

    :ok
  end
end
