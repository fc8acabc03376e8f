# Measures the cost of a call in the BEAM alone: MIX_ENV=test mix run bench/call.exs
#
# The server accepts messages and computes nothing. A time is that of one call in the
# fastest of many runs of a hundred calls, so other work of the machine does not count.
# One operation of the backend is measured for comparison.

defmodule NxVulkanGo.Bench.Sink do
  @moduledoc false
  # A device server that answers calls and forgets instructions.

  def start(device) do
    caller = self()

    spawn_link(fn ->
      Process.register(self(), :"nxvk_#{device}")
      send(caller, :registered)
      loop()
    end)

    receive do: (:registered -> :ok)
  end

  defp loop do
    receive do
      {:"$gen_call", {pid, tag}, {:open, _}} -> answer(pid, tag, %{key: "", incarnation: 1})
      {:"$gen_call", {pid, tag}, :memory} -> answer(pid, tag, %{session: %{}, device: %{}})
      {:"$gen_call", {pid, tag}, _} -> answer(pid, tag, <<>>)
      _instructions -> loop()
    end
  end

  defp answer(pid, tag, reply) do
    send(pid, {tag, {:ok, reply}})
    loop()
  end
end

{:ok, _} = :net_kernel.start(:"bench@127.0.0.1", %{name_domain: :longnames, dist_listen: false})
NxVulkanGo.Bench.Sink.start(0)
place = [server: node(), device: 0]
Nx.default_backend({NxVulkanGo.Backend, place})

[a, b, c, d] = for _ <- 1..4, do: Nx.iota({64}, type: :f32)
step = fn x, y -> Nx.add(Nx.tanh(x), y) end

many = fn x, y, z, w ->
  {Nx.add(x, y), Nx.multiply(x, z), %{u: Nx.subtract(z, w), v: Nx.sum(w)}, Nx.exp(y)}
end

compiled = Nx.Defn.compile(step, [a, b], compiler: NxVulkanGo)
compiled_many = Nx.Defn.compile(many, [a, b, c, d], compiler: NxVulkanGo)
jitted = Nx.Defn.jit(step, compiler: NxVulkanGo)

calls = [
  {"an operation of the backend", fn -> Nx.add(a, b) end},
  {"compiled, 2 arguments, 1 result", fn -> compiled.(a, b) end},
  {"compiled, 4 arguments, 5 results", fn -> compiled_many.(a, b, c, d) end},
  {"jitted, 2 arguments, 1 result", fn -> jitted.(a, b) end}
]

for {name, call} <- calls do
  times =
    for _ <- 1..300 do
      {us, _} = :timer.tc(fn -> for _ <- 1..100, do: call.() end)
      us / 100
    end

  times = Enum.sort(times)
  quickest = hd(times) |> Float.round(1)
  median = Enum.at(times, 150) |> Float.round(1)
  IO.puts("#{String.pad_trailing(name, 36)} #{quickest} us, median #{median}")
end
