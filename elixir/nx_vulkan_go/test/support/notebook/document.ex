defmodule NxVulkanGo.Notebook.Document do
  @moduledoc false
  # The Elixir of a guide or a livebook, as steps of `NxVulkanGo.Notebook`, and a check of what
  # has become of them.
  #
  # A block that begins with three backquotes and `elixir` is code. Comments that begin with
  # `#=>` state what the expression above them gives, as `inspect/1` prints it, or
  # `#=> ** (Error) ...`, the beginning of its exception. All blocks of a document share one
  # binding. These are not run:
  #
  #   * a block under `<!-- not run: REASON -->`
  #   * a block of configuration, whose expressions are all `config` and `import Config`. Its
  #     keys are compared with those that the package knows
  #   * the `Mix.install` of a livebook. Its packages must be there, and its `:config` is set

  alias NxVulkanGo.Options

  @type t :: %{
          steps: [NxVulkanGo.Notebook.step()],
          expected: %{atom => String.t()},
          skipped: [{pos_integer, String.t()}],
          packages: [atom]
        }

  @doc "Reads a document. Raises where a block cannot be parsed or configures an unknown key."
  @spec read!(Path.t()) :: t
  def read!(path) do
    document = %{steps: [], expected: %{}, skipped: [], packages: []}

    path
    |> File.read!()
    |> String.split("\n")
    |> blocks()
    |> Enum.reduce(document, &add(&1, &2, path))
    |> Map.update!(:steps, &Enum.reverse/1)
    |> Map.update!(:skipped, &Enum.reverse/1)
  end

  @doc "Returns the blocks of a document in another language, such as `sh`."
  @spec blocks!(Path.t(), String.t()) :: [String.t()]
  def blocks!(path, language) do
    for [_, text] <- Regex.scan(~r/^```#{language}\n(.*?)^```$/ms, File.read!(path)), do: text
  end

  # The blocks of Elixir: the line where each begins, its lines, and why it is not run.
  defp blocks(lines) do
    lines
    |> Enum.with_index(1)
    |> Enum.reduce({[], nil, nil}, &line/2)
    |> elem(0)
    |> Enum.reverse()
  end

  defp line({"```elixir", number}, {blocks, reason, nil}), do: {blocks, reason, {number, []}}
  defp line({"```", _}, {blocks, nil, nil}), do: {blocks, nil, :other}
  defp line({"```" <> _, _}, {blocks, _reason, nil}), do: {blocks, nil, :other}
  defp line({"```" <> _, _}, {blocks, _reason, :other}), do: {blocks, nil, nil}

  defp line({"```" <> _, _}, {blocks, reason, {number, lines}}),
    do: {[{number, Enum.reverse(lines), reason} | blocks], nil, nil}

  defp line({text, _}, {blocks, reason, {number, lines}}),
    do: {blocks, reason, {number, [text | lines]}}

  defp line({"<!-- not run: " <> rest, _}, {blocks, _reason, nil}),
    do: {blocks, String.trim_trailing(rest, " -->"), nil}

  defp line({"", _}, {blocks, reason, nil}), do: {blocks, reason, nil}
  defp line(_line, {blocks, _reason, open}), do: {blocks, nil, open}

  defp add({number, lines, reason}, document, path) when is_binary(reason) do
    parse!(lines, path, number)
    skip(document, number, reason)
  end

  defp add({number, lines, nil}, document, path) do
    expressions = lines |> parse!(path, number) |> expressions()

    cond do
      Enum.all?(expressions, &configuration?/1) ->
        check_configuration!(expressions, "#{path}:#{number}")
        skip(document, number, "configuration, whose keys are checked")

      install = Enum.find_value(expressions, &install/1) ->
        install(document, number, install)

      true ->
        lines |> split() |> Enum.reduce(document, &add_part(&1, &2, number))
    end
  end

  defp skip(document, number, reason),
    do: Map.update!(document, :skipped, &[{number, reason} | &1])

  defp parse!(lines, path, number),
    do: lines |> Enum.join("\n") |> Code.string_to_quoted!(file: path, line: number + 1)

  defp expressions({:__block__, _, expressions}), do: expressions
  defp expressions(expression), do: [expression]

  ## Configuration

  defp configuration?({:import, _, [{:__aliases__, _, [:Config]}]}), do: true
  defp configuration?({:config, _, _}), do: true
  defp configuration?(_other), do: false

  defp check_configuration!(expressions, where) do
    for {:config, _, [:nx_vulkan_go, pairs]} <- expressions, {key, _} <- pairs do
      unless key in Options.configuration(),
        do: raise("#{where}: config :nx_vulkan_go has no key #{inspect(key)}")
    end
  end

  ## Packages

  defp install({{:., _, [{:__aliases__, _, [:Mix]}, :install]}, _, [packages | options]}),
    do: {packages, List.first(options) || []}

  defp install(_other), do: nil

  defp install(document, number, {packages, options}) do
    names = for package <- packages, do: name(package)
    config = options |> Keyword.get(:config, []) |> Macro.to_string()
    step = {:cell, id(number, 0), "#{inspect(__MODULE__)}.configure(#{config})"}

    document
    |> Map.update!(:packages, &(&1 ++ names))
    |> Map.update!(:steps, &[step | &1])
    |> skip(number, "Mix.install of packages that are there")
  end

  # As quoted, {:a, "~> 1.0"} is itself and {:a, "~> 1.0", []} is not.
  defp name({:{}, _, [name | _]}), do: name
  defp name({name, _}), do: name
  defp name(name) when is_atom(name), do: name

  @doc "Sets the configuration of a `Mix.install`, as that does before applications start."
  def configure(config) do
    Application.put_all_env(config)

    with {:ok, backend} <- Application.fetch_env(:nx, :default_backend),
         do: Nx.global_default_backend(backend)

    for package <- [:kino, :bumblebee], do: Application.ensure_all_started(package)
    :ok
  end

  ## Code

  # The parts of a block, each with what it is stated to give, or nil.
  defp split(lines) do
    {parts, code, stated} = Enum.reduce(lines, {[], [], []}, &split_line/2)

    for {code, stated} <- Enum.reverse([{code, stated} | parts]),
        code != [],
        do: {join(code), stated(stated)}
  end

  defp split_line("#=> " <> text, {parts, code, []}), do: {parts, code, [text]}

  defp split_line("#   " <> text, {parts, code, [_ | _] = stated}),
    do: {parts, code, [text | stated]}

  defp split_line(line, {parts, code, []}), do: {parts, [line | code], []}
  defp split_line(line, {parts, code, stated}), do: {[{code, stated} | parts], [line], []}

  defp join(lines), do: lines |> Enum.reverse() |> Enum.join("\n")

  defp stated([]), do: nil
  defp stated(lines), do: join(lines)

  defp add_part({code, stated}, document, number) do
    if String.trim(code) == "" do
      document
    else
      id = id(number, length(document.steps))
      document = Map.update!(document, :steps, &[{:cell, id, code} | &1])
      if stated, do: put_in(document.expected[id], stated), else: document
    end
  end

  defp id(number, index), do: :"line_#{number}_#{index}"

  ## Outcomes

  @doc """
  Lists what is not as the document says: cells that raise and should not, and values that
  are not those that are stated.
  """
  @spec faults(t, %{atom => NxVulkanGo.Notebook.outcome()}) :: [String.t()]
  def faults(document, outcomes) do
    for {:cell, id, code} <- document.steps,
        fault = fault(Map.fetch!(outcomes, id), document.expected[id]),
        do: "#{id}:\n#{code}\n#{fault}"
  end

  defp fault(%{error: error}, "** " <> _ = stated) do
    unless String.starts_with?(squeeze(error), squeeze(stated)),
      do: "raises\n#{error}\ninstead of\n#{stated}"
  end

  defp fault(%{error: error, output: output}, _stated), do: "raises\n#{error}\n#{output}"
  defp fault(%{value: _}, nil), do: nil

  defp fault(%{value: value}, stated) do
    unless squeeze(value) == squeeze(stated), do: "gives\n#{value}\ninstead of\n#{stated}"
  end

  # Lines are broken for readers.
  defp squeeze(text), do: text |> String.split() |> Enum.join(" ")
end
