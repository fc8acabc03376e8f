# Measures what traces cost a step, a run of a compiled function and the read of its result:
# MIX_ENV=test mix run bench/tracing.exs
#
# Needs opentelemetry_api and opentelemetry. The four ways take turns, a hundred steps each, so
# that other work of the machine meets all of them; a time is the median of their rounds.

alias NxVulkanGo.{OpenTelemetry, TraceContext}

for {key, value} <- [span_processor: :batch, traces_exporter: :none],
    do: Application.put_env(:opentelemetry, key, value)

{:ok, _} = Application.ensure_all_started(:opentelemetry)
Nx.default_backend(NxVulkanGo.Backend)
# The node computes small tensors, too.
NxVulkanGo.Options.put_vm_limit(0)

x = Nx.iota({64}, type: :f32)
fun = Nx.Defn.compile(fn x -> Nx.sum(Nx.multiply(x, x)) end, [x], compiler: NxVulkanGo)
step = fn -> Nx.to_binary(fun.(x)) end
tracer = :opentelemetry.get_tracer(:bench)
parent = fn flags -> :otel_tracer.from_remote_span(1, 2, flags) end

within = fn flags, fun ->
  token = :otel_ctx.attach(:otel_tracer.set_current_span(:otel_ctx.new(), parent.(flags)))
  :otel_tracer.with_span(tracer, "steps", %{}, fn _ -> fun.() end)
  :otel_ctx.detach(token)
end

hundred = fn -> for _ <- 1..100, do: step.() end

ways = [
  {"off", &OpenTelemetry.teardown/0, hundred},
  {"off, once more", &OpenTelemetry.teardown/0, hundred},
  {"on, not sampled", &OpenTelemetry.setup/0, fn -> within.(0, hundred) end},
  {"on, sampled", &OpenTelemetry.setup/0, fn -> within.(1, hundred) end}
]

for _ <- 1..20, do: hundred.()

rounds =
  for _ <- 1..60, {name, prepare, run} <- ways, reduce: %{} do
    rounds ->
      prepare.()
      {us, _} = :timer.tc(run)
      Map.update(rounds, name, [us / 100], &[us / 100 | &1])
  end

median = fn list -> list |> Enum.sort() |> Enum.at(div(length(list), 2)) end
off = median.(rounds["off"])

for {name, _, _} <- ways do
  time = median.(rounds[name])
  percent = Float.round((time / off - 1) * 100, 1)
  IO.puts("#{String.pad_trailing(name, 18)} #{Float.round(time, 1)} us a step, #{percent} %")
end

# The look-ups that a step makes where nothing is set up: one for the run, one for the read.
OpenTelemetry.teardown()
n = 1_000_000

best = fn fun -> Enum.min(for _ <- 1..9, do: elem(:timer.tc(fun), 0)) end
loop = fn f -> best.(fn -> Enum.each(1..n, f) end) end

with_context =
  loop.(fn _ ->
    {TraceContext.run_attributes("key", nil), TraceContext.request({:download, 1})}
  end)

without = loop.(fn _ -> {["key", nil], {:download, 1}} end)
ns = (with_context - without) * 1000 / n

IO.puts(
  "look-ups where off  #{Float.round(ns, 1)} ns, #{Float.round(ns / 400, 3)} % of a step of 40 us"
)
