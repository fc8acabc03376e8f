defmodule NxVulkanGo.DocumentationTest do
  # What ExDoc would warn of: documents and types of modules that are shown must name
  # none that are hidden. The package has the files that it says it has.
  use ExUnit.Case, async: true

  defp modules do
    {:ok, modules} = :application.get_key(:nx_vulkan_go, :modules)
    lib = Path.expand("../lib", __DIR__)

    for module <- modules,
        source = to_string(module.module_info(:compile)[:source]),
        String.starts_with?(Path.expand(source), lib),
        do: module
  end

  defp hidden, do: for(module <- modules(), hidden?(Code.fetch_docs(module)), do: inspect(module))

  defp hidden?({:docs_v1, _, _, _, :hidden, _, _}), do: true
  defp hidden?(_docs), do: false

  defp texts({:docs_v1, _, _, _, doc, _, docs}),
    do: for({_, _, _, %{} = doc, _} <- docs, do: doc["en"]) ++ [is_map(doc) && doc["en"]]

  test "documents name no module that has none" do
    hidden = hidden()
    assert "NxVulkanGo.Backend.Eager" in hidden
    shown = for module <- modules(), inspect(module) not in hidden, do: module
    assert NxVulkanGo.Backend in shown

    files =
      for path <- ["README.md" | Path.wildcard("{guides,livebooks}/**/*.{livemd,md}")],
          do: {path, File.read!(path)}

    docs = for module <- shown, text <- texts(Code.fetch_docs(module)), text, do: {module, text}

    found =
      for {where, text} <- files ++ docs,
          [_, name] <- Regex.scan(~r/`(NxVulkanGo[\w.]*\w)/, text),
          name = module_of(name),
          name in hidden,
          do: {where, name}

    assert found == []
  end

  # Without the function.
  defp module_of(name), do: Regex.run(~r/^[A-Z]\w*(\.[A-Z]\w*)*/, name) |> hd()

  test "types and specs of what is shown name no type of a hidden module" do
    hidden = hidden()

    found =
      for module <- modules(),
          inspect(module) not in hidden,
          {name, form} <- types(module) ++ specs(module),
          {:remote_type, _, [{:atom, _, other}, _, _]} <- nodes(form),
          inspect(other) in hidden,
          do: {module, name, other}

    assert found == []
  end

  defp types(module) do
    {:ok, types} = Code.Typespec.fetch_types(module)
    for {kind, {name, form, _}} <- types, kind != :typep, do: {name, form}
  end

  # Those of functions that have documents.
  defp specs(module) do
    {:docs_v1, _, _, _, _, _, docs} = Code.fetch_docs(module)

    shown =
      for {{:function, name, arity}, _, _, doc, _} <- docs, doc != :hidden, do: {name, arity}

    {:ok, specs} = Code.Typespec.fetch_specs(module)
    for {function, forms} <- specs, function in shown, form <- forms, do: {function, form}
  end

  defp nodes(form) when is_tuple(form), do: [form | form |> Tuple.to_list() |> nodes()]
  defp nodes(forms) when is_list(forms), do: Enum.flat_map(forms, &nodes/1)
  defp nodes(_other), do: []

  test "the package has its files, and among them the licence" do
    files = Mix.Project.config()[:package][:files]
    assert "LICENSE" in files
    # Only a release has written the sums.
    assert "priv/checksums.txt" in files

    for file <- files -- ["priv/checksums.txt"],
        do: assert(File.exists?(file), "#{file} is not there")

    assert File.read!("LICENSE") =~ "Apache License"
  end

  test "every guide and livebook is among the documents" do
    extras = Mix.Project.config()[:docs][:extras]
    assert Enum.uniq(extras) == extras
    here = Path.wildcard("guides/**/*.md") ++ Path.wildcard("livebooks/*.livemd")
    assert Enum.sort(here ++ ["README.md", "CHANGELOG.md"]) == Enum.sort(extras)
  end

  test "links between documents, and those of modules to them, lead to files" do
    extras = Mix.Project.config()[:docs][:extras]
    names = Enum.map(extras, &Path.basename/1)
    documents = for path <- extras, do: {path, Path.dirname(path), File.read!(path)}

    found =
      for {path, folder, text} <- documents,
          [_, link] <- Regex.scan(~r/\]\(([\w.\/]+\.(?:md|livemd))\)/, text),
          not File.exists?(Path.join(folder, link)) or Path.basename(link) not in names,
          do: {path, link}

    assert found == []

    broken =
      for module <- modules(),
          text <- texts(Code.fetch_docs(module)),
          text,
          [_, link] <- Regex.scan(~r/\]\(([\w.\/]+\.(?:md|livemd))\)/, text),
          link not in extras,
          do: {module, link}

    assert broken == []
  end

  test "configuration that documents show has known keys" do
    shown =
      for path <- Mix.Project.config()[:docs][:extras],
          [_, key] <- Regex.scan(~r/config :nx_vulkan_go, (\w+):/, File.read!(path)),
          do: {path, String.to_atom(key)}

    known = NxVulkanGo.Options.configuration()
    assert for({_, key} = at <- shown, key not in known, do: at) == []
  end

  test "the guide of trouble has a section for every kind of error" do
    {:docs_v1, _, _, _, %{"en" => text}, _, _} = Code.fetch_docs(NxVulkanGo.Error)
    [kinds, _] = String.split(text, "* `:op`", parts: 2)
    [_, kinds] = String.split(kinds, "* `:kind`", parts: 2)
    kinds = for [_, kind] <- Regex.scan(~r/`:(\w+)`/, kinds), do: kind
    assert length(kinds) > 15

    guide = File.read!("guides/trouble.md")
    sections = for [line] <- Regex.scan(~r/^### .*$/m, guide), do: line
    assert for(kind <- kinds, not Enum.any?(sections, &(&1 =~ "`:#{kind}`")), do: kind) == []
  end
end
