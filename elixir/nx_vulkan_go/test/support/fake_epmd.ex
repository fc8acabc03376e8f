defmodule NxVulkanGo.FakeEpmd do
  @moduledoc false
  # A port mapper for tests: it knows what it is told, on a port of its own.

  @port_please 122
  @port_answer 119
  @names 110

  @doc "Starts one that knows these names and ports; gives its port. It ends with the caller."
  def start(names) do
    {:ok, listener} = :gen_tcp.listen(0, [:binary, active: false, ip: {127, 0, 0, 1}])
    {:ok, port} = :inet.port(listener)
    spawn_link(fn -> accept(listener, port, names) end)
    port
  end

  defp accept(listener, port, names) do
    case :gen_tcp.accept(listener) do
      {:ok, socket} ->
        with {:ok, <<_size::16, request::binary>>} <- :gen_tcp.recv(socket, 0),
             do: :gen_tcp.send(socket, answer(request, port, names))

        :gen_tcp.close(socket)
        accept(listener, port, names)

      {:error, :closed} ->
        :ok
    end
  end

  defp answer(<<@port_please, name::binary>>, _port, names) do
    case names do
      %{^name => port} ->
        <<@port_answer, 0, port::16, 72, 0, 6::16, 5::16, byte_size(name)::16, name::binary,
          0::16>>

      _ ->
        <<@port_answer, 1>>
    end
  end

  defp answer(<<@names>>, port, names) do
    [<<port::32>> | for({name, port} <- names, do: "name #{name} at port #{port}\n")]
  end
end
