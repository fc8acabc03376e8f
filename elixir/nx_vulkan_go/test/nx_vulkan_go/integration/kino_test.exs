defmodule NxVulkanGo.Integration.KinoTest do
  # What Livebook shows of an explanation and of chains under way. Where this project has
  # Kino (`KINO_PATH` beside a checkout of Nx, or Hex) that is Kino itself, else as much of
  # it as an explanation needs.
  use ExUnit.Case, async: false

  setup do
    Nx.default_backend(NxVulkanGo.Backend)
    :ok
  end

  defp explanation,
    do: NxVulkanGo.explain(fn x -> Nx.divide(Nx.exp(x), Nx.sum(Nx.exp(x))) end, [Nx.iota({9})])

  if Code.ensure_loaded?(Kino) do
    # An IO device like that of a cell: it takes the outputs of Kino.
    defp device(test) do
      spawn_link(fn -> loop(test) end)
    end

    defp loop(test) do
      receive do
        {:io_request, from, tag, {:livebook_put_output, output}} ->
          send(test, {:output, output})
          send(from, {:io_reply, tag, :ok})

        {:io_request, from, tag, _other} ->
          send(from, {:io_reply, tag, {:error, :request}})
      end

      loop(test)
    end

    test "an explanation is a table" do
      assert Kino.Render.impl_for(explanation()) == Kino.Render.NxVulkanGo.Explanation
      assert %{type: :js, js_view: %{pid: pid}} = Kino.Render.to_livebook(explanation())
      assert Process.alive?(pid)
    end

    test "diagnostics are a table" do
      density = fn q -> Nx.multiply(-0.5, Nx.sum(Nx.multiply(q, q))) end
      model = NxVulkanGo.Sampler.compile(density, Nx.template({2}, :f64))
      result = NxVulkanGo.Sampler.nuts(model, chains: 2, draws: 50, warmup: 50, progress: false)
      summary = NxVulkanGo.Sampler.Diagnostics.summary(result)
      assert Kino.Render.impl_for(summary) == Kino.Render.NxVulkanGo.Sampler.Summary
      assert %{type: :js, js_view: %{pid: pid}} = Kino.Render.to_livebook(summary)
      assert Process.alive?(pid)
    end

    test "an overview is text with tables; what others say is escaped" do
      session = %{
        device: 0,
        label: "<b>|x|`\n# y",
        owner: "#PID<0.1.0>",
        bytes: 10,
        buffers: 1,
        waiting: 0,
        waits_for: nil
      }

      overview = %{NxVulkanGo.overview() | sessions: [session]}
      assert %{type: :markdown, text: text} = Kino.Render.to_livebook(overview)
      assert text =~ "### Devices"
      assert text =~ ~S"| 0 | \<b\>\|x\|\` \# y | \#PID\<0\.1\.0\> | 10 B | 1 | 0 |  |"
    end

    test "chains under way are a frame" do
      Process.group_leader(self(), device(self()))
      ansi = IO.ANSI.enabled?()
      on_exit(fn -> Application.put_env(:elixir, :ansi_enabled, ansi) end)
      Application.put_env(:elixir, :ansi_enabled, true)

      density = fn q -> Nx.multiply(-0.5, Nx.sum(Nx.multiply(q, q))) end
      model = NxVulkanGo.Sampler.compile(density, Nx.template({2}, :f64))
      # A run shows nothing before it has taken a second; this one ends when it has.
      stream =
        Task.async(fn ->
          NxVulkanGo.Sampler.nuts(model, chains: 2, draws: 10_000_000, seed: 1)
        end)

      assert_receive {:output, %{type: :frame, ref: ref}}
      assert_receive {:output, %{type: :frame_update, ref: ^ref, update: {:replace, [output]}}}
      assert output.text =~ ~r"chain 0  draws .*/10000000  \d+ divergent  step"
      Task.shutdown(stream, :brutal_kill)
    end
  else
    @kino """
    defprotocol Kino.Render do
      def to_livebook(term)
    end

    defmodule Kino.DataTable do
      defstruct [:rows, :options]
      def new(rows, options), do: %__MODULE__{rows: rows, options: options}
    end

    defmodule Kino.Markdown do
      def new(text), do: text
    end

    defimpl Kino.Render, for: Kino.DataTable do
      def to_livebook(table), do: {:table, table.rows, table.options}
    end
    """

    test "an explanation is a table" do
      kino = Code.compile_string(@kino)
      ours = Code.compile_file("lib/nx_vulkan_go/integration/kino.ex")
      on_exit(fn -> for {module, _} <- kino ++ ours, do: unload(module) end)

      render = Module.concat(Kino.Render, NxVulkanGo.Explanation)
      assert List.keymember?(ours, render, 0)
      explanation = explanation()
      assert {:table, rows, options} = render.to_livebook(explanation)
      assert rows == NxVulkanGo.Explanation.rows(explanation)
      assert is_binary(options[:name])
      for row <- rows, do: assert(Enum.sort(Map.keys(row)) == Enum.sort(options[:keys]))
    end

    test "without Livebook it needs no Kino" do
      assert Code.compile_file("lib/nx_vulkan_go/integration/kino.ex") == []
    end

    defp unload(module) do
      :code.delete(module)
      :code.purge(module)
    end
  end
end
