defmodule NxVulkanGo.Distribution.TwoMachinesTest do
  # The lines of the README for a server elsewhere, on two machines: network namespaces
  # that only a cable joins. Names are found in a file, as in /etc/hosts.
  use ExUnit.Case, async: true

  alias NxVulkanGo.{Distribution, Served}

  @moduletag :tmp_dir
  @gpubox "10.231.77.1"
  @laptop "10.231.77.2"

  # What keeps this machine from having namespaces, nil where nothing does.
  defp hindrance do
    probe = "nxvk_#{Distribution.random_hex(3)}"

    with true <- System.find_executable("ip") != nil || "there is no ip",
         true <- System.find_executable("nsenter") != nil || "there is no nsenter",
         {_, 0} <- System.cmd("ip", ["netns", "add", probe], stderr_to_stdout: true) do
      System.cmd("ip", ["netns", "del", probe])
      nil
    else
      {said, _} -> String.trim(said)
      why -> why
    end
  end

  setup %{tmp_dir: dir} do
    case hindrance() do
      nil -> machines(dir)
      why -> {:ok, hindrance: why}
    end
  end

  defp machines(dir) do
    id = Distribution.random_hex(3)
    [gpubox, laptop] = for name <- ["g", "l"], do: {name <> id, "nxvk_" <> name <> id}
    on_exit(fn -> for {_, space} <- [gpubox, laptop], do: ip("netns del #{space}") end)
    for {_, space} <- [gpubox, laptop], do: ip("netns add #{space}")
    {one, here} = gpubox
    {other, there} = laptop
    ip("link add #{one} netns #{here} type veth peer name #{other} netns #{there}")

    for {{device, space}, address} <- [{gpubox, @gpubox}, {laptop, @laptop}] do
      ip("address add #{address}/24 dev #{device}", space)
      ip("link set #{device} up", space)
      ip("link set lo up", space)
    end

    inetrc = Path.join(dir, "inetrc")
    address = String.replace(@gpubox, ".", ",")
    File.write!(inetrc, ~s({host, {#{address}}, ["gpubox", "gpubox.lan"]}.\n{lookup, [file]}.\n))
    cookie = Path.join(dir, "cookie")
    File.write!(cookie, "a cookie of both\n")
    File.chmod!(cookie, 0o600)
    {:ok, hindrance: nil, gpubox: here, laptop: there, inetrc: inetrc, cookie: cookie}
  end

  # `ip -n` would want a mount point for its root.
  defp ip(line, space), do: done(line, "nsenter", ["--net=/run/netns/#{space}", "ip"])
  defp ip(line), do: done(line, "ip", [])

  defp done(line, program, args) do
    {said, status} = System.cmd(program, args ++ String.split(line), stderr_to_stdout: true)
    assert {line, status, said} == {line, 0, said}
  end

  # `nxvk-node run` on the one machine, until it is ready.
  defp serve(context, name) do
    args = ~w(--listen 0.0.0.0 --port 9100 --name #{name} --cookie-file #{context.cookie})
    under = ["nsenter", "--net=/run/netns/#{context.gpubox}"]
    served = Served.start!(args, under: under, env: [{~c"ERL_EPMD_ADDRESS", false}])
    assert served == {name, "9100"}
  end

  # A program on the other one, as the README configures it.
  defp compute(context, server, cookie, names) do
    program = """
    Application.put_env(:nx_vulkan_go, :server, :"#{server}")
    Application.put_env(:nx_vulkan_go, :cookie, #{inspect(cookie)})
    {:ok, _} = Application.ensure_all_started(:nx_vulkan_go)
    t = Nx.iota({1000}, backend: NxVulkanGo.Backend)
    IO.puts("sum \#{Nx.to_number(Nx.sum(t))} on \#{t.data.session.server}")
    """

    paths = for path <- :code.get_path(), arg <- ["-pa", to_string(path)], do: arg
    args = ["--net=/run/netns/#{context.laptop}", "elixir"] ++ names ++ paths ++ ["-e", program]
    env = [{"ERL_INETRC", context.inetrc}, {"ERL_EPMD_ADDRESS", nil}]
    System.cmd("nsenter", args, env: env, stderr_to_stdout: true)
  end

  for {server, kind} <- [{"nxvk@gpubox", "short"}, {"nxvk@gpubox.lan", "long"}] do
    test "a server with a #{kind} name", context do
      if context.hindrance do
        IO.puts("\nSKIP two machines: #{context.hindrance}")
      else
        serve(context, unquote(server))
        laptop = ["--erl", "-dist_listen false -start_epmd false"]

        for names <- [
              [],
              laptop ++ ["--sname", "me@laptop"],
              laptop ++ ["--name", "me@laptop.lan"]
            ] do
          {said, status} = compute(context, unquote(server), "a cookie of both", names)
          assert {status, said} == {0, said}
          assert said =~ "sum 499500 on #{unquote(server)}"
        end

        assert {said, 1} = compute(context, unquote(server), "another", [])
        assert said =~ "#{unquote(server)} has another cookie"
      end
    end
  end
end
