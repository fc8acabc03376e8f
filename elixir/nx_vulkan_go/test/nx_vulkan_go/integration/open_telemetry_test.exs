if Code.ensure_loaded?(NxVulkanGo.OpenTelemetry) and Code.ensure_loaded?(:otel_exporter_pid) do
  defmodule NxVulkanGo.Integration.OpenTelemetryTest do
    # The spans of runs and downloads, as the SDK exports them.
    use ExUnit.Case, async: false

    require Record

    Record.defrecordp(
      :span,
      Record.extract(:span, from_lib: "opentelemetry/include/otel_span.hrl")
    )

    alias NxVulkanGo.{OpenTelemetry, TraceContext}

    setup_all do
      settings = [span_processor: :simple, traces_exporter: :none]
      for {key, value} <- settings, do: Application.put_env(:opentelemetry, key, value)
      {:ok, _} = Application.ensure_all_started(:opentelemetry)
      :ok
    end

    setup do
      :otel_simple_processor.set_exporter(:otel_exporter_pid, self())
      Nx.default_backend(NxVulkanGo.Backend)
      :ok = OpenTelemetry.setup()
      on_exit(&OpenTelemetry.teardown/0)
    end

    # Calls a function in a span of the application, and returns the spans of its trace by id,
    # when as many of the names have ended as asked for.
    defp trace(wanted, fun) do
      tracer = :opentelemetry.get_tracer(:test)
      :otel_tracer.with_span(tracer, "step", %{}, fn _ -> fun.() end)
      spans = collect(Enum.frequencies(["step" | wanted]), [])
      [%{trace: trace}] = Enum.filter(spans, &(&1.name == "step"))
      for %{trace: ^trace} = s <- spans, into: %{}, do: {s.id, s}
    end

    defp collect(wanted, spans) when wanted == %{}, do: spans

    defp collect(wanted, spans) do
      assert_receive {:span, span() = s}

      one = %{
        id: span(s, :span_id),
        parent: span(s, :parent_span_id),
        trace: span(s, :trace_id),
        name: to_string(span(s, :name)),
        kind: span(s, :kind),
        start: span(s, :start_time),
        end: span(s, :end_time),
        status: span(s, :status),
        attributes: :otel_attributes.map(span(s, :attributes))
      }

      left = Map.get(wanted, one.name, 0) - 1
      wanted = if left > 0, do: %{wanted | one.name => left}, else: Map.delete(wanted, one.name)
      collect(wanted, [one | spans])
    end

    defp only(spans, name) do
      assert [one] = for({_, %{name: ^name} = s} <- spans, do: s)
      one
    end

    defp children(spans, of), do: for({_, %{parent: id} = s} <- spans, id == of.id, do: s)

    test "a run and a download have spans of the node within those of the client" do
      fun = Nx.Defn.jit(fn x -> Nx.sum(Nx.multiply(x, x)) end, compiler: NxVulkanGo)
      x = Nx.iota({1000}, type: :f32)

      spans =
        trace(~w(nx_vulkan_go.download nxvk.run nxvk.download), fn -> Nx.to_number(fun.(x)) end)

      step = only(spans, "step")
      compile = only(spans, "nx_vulkan_go.compile")
      run = only(spans, "nx_vulkan_go.run")
      assert {compile.parent, run.parent} == {step.id, step.id}
      assert run.kind == :client
      assert [of_node] = children(spans, run)
      assert %{name: "nxvk.run", kind: :server} = of_node
      server = NxVulkanGo.connect()

      assert %{"nxvk.server": ^server, "nxvk.device": 0, "nxvk.device.name": name} =
               of_node.attributes

      assert name in for(d <- NxVulkanGo.devices(), do: d.name)
      assert of_node.attributes[:"nxvk.program"] == run.attributes[:"nxvk.program"]
      parts = children(spans, of_node)
      assert "nxvk.queue" in Enum.map(parts, & &1.name)
      assert [_ | _] = for(%{name: "nxvk.execute"} = s <- parts, do: s)

      download = only(spans, "nx_vulkan_go.download")
      assert download.attributes[:"nxvk.bytes"] == 4
      assert [%{name: "nxvk.download"} = read] = children(spans, download)
      parts = parts ++ children(spans, read)
      assert "nxvk.transfer" in Enum.map(parts, & &1.name)

      # On one machine the clocks are the same, up to their corrections.
      slack = System.convert_time_unit(100, :millisecond, :native)
      for s <- [of_node, read | parts], do: assert(s.start <= s.end)
      for s <- parts, do: assert(s.start >= step.start - slack and s.end <= step.end + slack)
    end

    test "what raises is an error of its span" do
      broken = fn x -> Nx.runtime_call(x, x, [], fn _, _ -> raise "oops" end) end
      fun = Nx.Defn.jit(broken, compiler: NxVulkanGo)
      spans = trace(["nx_vulkan_go.run"], fn -> catch_error(fun.(1)) end)
      assert {:status, :error, text} = only(spans, "nx_vulkan_go.run").status
      assert text =~ "oops"
    end

    test "a trace that is not sampled is not measured by the node" do
      test = self()
      event = [:nx_vulkan_go, :node, :spans]
      :telemetry.attach(event, event, fn _, _, _, _ -> send(test, :measured) end, nil)
      on_exit(fn -> :telemetry.detach(event) end)

      fun = Nx.Defn.jit(&Nx.add(&1, 1), compiler: NxVulkanGo)
      # The default sampler follows the flags of the parent.
      parent = :otel_tracer.from_remote_span(1, 2, 0)
      token = :otel_ctx.attach(:otel_tracer.set_current_span(:otel_ctx.new(), parent))
      assert TraceContext.current() == nil
      assert Nx.to_number(fun.(Nx.tensor(2))) == 3
      :otel_ctx.detach(token)
      NxVulkanGo.sync()
      refute_received :measured
    end

    test "after teardown there is no context" do
      OpenTelemetry.teardown()
      tracer = :opentelemetry.get_tracer(:test)

      :otel_tracer.with_span(tracer, "step", %{}, fn _ ->
        assert TraceContext.current() == nil
        assert TraceContext.run_attributes("key", nil) == ["key", nil]
        assert TraceContext.request({:download, 1}) == {:download, 1}
      end)
    end
  end
else
  defmodule NxVulkanGo.Integration.OpenTelemetryTest do
    use ExUnit.Case, async: false

    @tag skip: "opentelemetry_api and opentelemetry are not dependencies of this build"
    test "a run and a download have spans of the node within those of the client"
  end
end
