# Spans for OpenTelemetry, where a project has its API.
if Code.ensure_loaded?(:otel_tracer) do
  defmodule NxVulkanGo.OpenTelemetry do
    @moduledoc """
    Makes spans of [OpenTelemetry](https://hexdocs.pm/opentelemetry_api) of what this package and
    the node do. It exists where the project depends on `:opentelemetry_api`.

        # when the application starts
        NxVulkanGo.OpenTelemetry.setup()

    Each compilation, run, upload of a kilobyte or more, and download of the calling process
    becomes a span, a child of the span that is current:

    | span | kind | is |
    |---|---|---|
    | `nx_vulkan_go.compile` | internal | tracing a function of `Nx.Defn` |
    | `nx_vulkan_go.upload` | client | sending a tensor |
    | `nx_vulkan_go.run` | client | sending a run of a compiled function; the device may take longer |
    | `nx_vulkan_go.download` | client | reading a tensor |
    | `nxvk.run`, `nxvk.download` | server | the same on the node, from the arrival of the message to its end on the device |
    | `nxvk.queue` | internal | waiting for the turn in the session |
    | `nxvk.compile` | internal | waiting for a kernel that is being compiled |
    | `nxvk.execute` | internal | a submission on the device, or a run on the node's processor |
    | `nxvk.transfer` | internal | copying the result to the host |

    The trace context travels with runs and downloads in the form of W3C Trace Context, and the
    node measures these only for traces that are sampled. Spans of the node have its clock; on
    machines whose clocks differ they seem to lie before or after the span of the client.

    Attributes: `nxvk.server` (the name of the node), `nxvk.device` (the index of the device),
    `nxvk.device.name`, `nxvk.program` (the key of the program, in hexadecimal digits),
    `nxvk.place` (`device` or `host`) and `nxvk.bytes`.

    Without `setup/0` the cost is a look-up for each run and download. With it, a run whose
    trace is not sampled costs what the span of the API costs. A sampled run is submitted to the
    device by itself; `bench/tracing.exs` measures all three.
    """

    alias NxVulkanGo.TraceContext

    @handler {__MODULE__, :spans}

    # Each event, the kind of its span, and the metadata that become attributes.
    @spans %{
      compile: :internal,
      run: :client,
      upload: :client,
      download: :client
    }

    @doc "Begins to make spans. It may be called again."
    @spec setup() :: :ok
    def setup do
      :telemetry.detach(@handler)

      events =
        for {name, _} <- @spans,
            step <- [:start, :stop, :exception],
            do: [:nx_vulkan_go, name, step]

      :ok =
        :telemetry.attach_many(
          @handler,
          [[:nx_vulkan_go, :node, :spans] | events],
          &__MODULE__.handle/4,
          nil
        )

      TraceContext.put_source(__MODULE__)
    end

    @doc "Ends what `setup/0` began."
    @spec teardown() :: :ok
    def teardown do
      TraceContext.put_source(nil)
      _ = :telemetry.detach(@handler)
      :ok
    end

    @doc false
    # Only traces that somebody records are measured.
    def traceparent do
      span = :otel_tracer.current_span_ctx()

      if span != :undefined and :otel_span.is_recording(span) do
        IO.iodata_to_binary([
          "00-",
          :otel_span.hex_trace_id(span),
          ?-,
          :otel_span.hex_span_id(span),
          "-01"
        ])
      end
    end

    @doc false
    # The spans of the node come to the process of a session, which has more to do.
    def handle([_, :node, :spans], _, metadata, _), do: spawn(fn -> record(metadata) end)

    def handle([_, name, :start], _, metadata, _) do
      context = :otel_ctx.get_current()

      span =
        :otel_tracer.start_span(context, tracer(), "nx_vulkan_go.#{name}", %{
          kind: Map.fetch!(@spans, name),
          attributes: attributes(metadata)
        })

      token = :otel_ctx.attach(:otel_tracer.set_current_span(context, span))
      Process.put({__MODULE__, metadata.telemetry_span_context}, {span, token})
    end

    def handle([_, _, step], measurements, metadata, _) do
      # A span that began before setup/0 is not there.
      with {span, token} <- Process.delete({__MODULE__, metadata.telemetry_span_context}) do
        with %{bytes: bytes} <- measurements,
             do: :otel_span.set_attribute(span, :"nxvk.bytes", bytes)

        if step == :exception, do: fail(span, metadata)
        :otel_span.end_span(span)
        :otel_ctx.detach(token)
      end
    end

    defp fail(span, %{kind: kind, reason: reason, stacktrace: stacktrace}) do
      :otel_span.record_exception(span, kind, reason, stacktrace, %{})
      text = Exception.format_banner(kind, reason, stacktrace)
      :otel_span.set_status(span, :opentelemetry.status(:error, text))
    end

    defp attributes(metadata) do
      for {key, name} <- [server: :"nxvk.server", device: :"nxvk.device", key: :"nxvk.program"],
          value = metadata[key],
          into: %{},
          do: {name, if(key == :key, do: Base.encode16(value, case: :lower), else: value)}
    end

    ## Spans of the node

    defp record(%{context: context, span: span} = metadata) do
      <<_::binary-3, trace::binary-32, ?-, parent::binary-16, ?-, flags::binary-2, _::binary>> =
        context

      remote = :otel_tracer.from_remote_span(hex(trace), hex(parent), hex(flags))

      attributes =
        Map.put(attributes(Map.put(metadata, :key, span.key)), :"nxvk.device.name", span.device)

      start = :otel_tracer.set_current_span(:otel_ctx.new(), remote)

      of_node =
        :otel_tracer.start_span(start, tracer(), "nxvk.#{span.name}", %{
          kind: :server,
          start_time: time(span.start),
          attributes: attributes
        })

      within = :otel_tracer.set_current_span(start, of_node)
      for part <- span.parts, do: record_part(within, part, attributes)
      if span.error, do: :otel_span.set_status(of_node, :opentelemetry.status(:error, span.error))
      :otel_span.end_span(of_node, time(span.end))
    end

    defp record_part(within, part, attributes) do
      attributes =
        if part.place, do: Map.put(attributes, :"nxvk.place", part.place), else: attributes

      within
      |> :otel_tracer.start_span(tracer(), "nxvk.#{part.name}", %{
        start_time: time(part.start),
        attributes: attributes
      })
      |> :otel_span.end_span(time(part.end))
    end

    defp hex(digits), do: String.to_integer(digits, 16)

    # Nanoseconds since 1970, as the API has times: of the VM's monotonic clock.
    defp time(nanoseconds) do
      System.convert_time_unit(nanoseconds, :nanosecond, :native) - System.time_offset()
    end

    defp tracer, do: :opentelemetry.get_application_tracer(__MODULE__)
  end
end
