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
      for path <- ["README.md" | Path.wildcard("guides/**/*.{livemd,md}")],
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
end
