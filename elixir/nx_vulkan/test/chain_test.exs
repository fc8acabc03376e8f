defmodule Nx.Vulkan.ChainTest do
  # Shaders of the repository's own tests, compiled as eXMC compiles its own.
  use ExUnit.Case
  alias Nx.Vulkan.NativeV, as: V

  @source Path.expand("../../../gen/chain/testdata/chain.comp", __DIR__)

  setup_all do
    glslang =
      System.find_executable("glslangValidator") ||
        raise "these tests need glslangValidator in the PATH, as eXMC does"

    {:ok, glslang: glslang}
  end

  setup %{glslang: glslang} do
    dir = Path.join(System.tmp_dir!(), "nx_vulkan_#{System.unique_integer([:positive])}")
    File.mkdir_p!(dir)
    on_exit(fn -> File.rm_rf!(dir) end)

    compile = fn name, defines ->
      path = Path.join(dir, name <> ".spv")
      {_, 0} = System.cmd(glslang, ["-V", "-o", path, @source | defines])
      path
    end

    {:ok, compile: compile, dir: dir}
  end

  defp doubles(values), do: for(x <- values, into: <<>>, do: <<x::float-64-little>>)
  defp read(binary), do: for(<<x::float-64-little <- binary>>, do: x)

  defp push(k, n_obs, d, eps, n \\ 0),
    do: <<k::32-little, n_obs::32-little, d::32-little, n::32-little, eps::float-64-little>>

  # The steps of the shader, which is a standard normal, in the order of its operations.
  defp steps(q, p, eps, k) do
    {rows, _} =
      Enum.map_reduce(1..k, {q, p}, fn _, {q, p} ->
        half = Enum.zip_with(p, q, &(&1 + 0.5 * eps * -&2))
        q = Enum.zip_with(q, half, &(&1 + eps * 1.0 * &2))
        p = Enum.zip_with(half, q, &(&1 + 0.5 * eps * -&2))
        {{q, p, Enum.map(q, &(-&1)), Enum.reduce(q, 0.0, &(&2 + -0.5 * (&1 * &1)))}, {q, p}}
      end)

    {qs, ps, grads, logps} =
      Enum.reduce(rows, {[], [], [], []}, fn {q, p, g, l}, {qs, ps, gs, ls} ->
        {qs ++ q, ps ++ p, gs ++ g, ls ++ [l]}
      end)

    {doubles(qs), doubles(ps), doubles(grads), doubles(logps)}
  end

  defp call(path, k, eps \\ 0.1, q \\ [1.0, -0.5], p \\ [0.3, 2.0]) do
    d = length(q)
    ones = doubles(List.duplicate(1.0, d))
    V.leapfrog_chain_synth_f64(doubles(q), doubles(p), ones, push(k, 0, d, eps), k, path)
  end

  test "steps are those of the host, bit for bit, also where densities lag", context do
    want = steps([1.0, -0.5], [0.3, 2.0], 0.1, 32)
    assert call(context.compile.("good", ["-DNUM=double"]), 32) == {:ok, want}
    assert call(context.compile.("late", ["-DNUM=double", "-DLAG", "-DONE"]), 32) == {:ok, want}
  end

  test "a shorter chain is the beginning of a longer one, and the same call the same bits",
       context do
    path = context.compile.("good", ["-DNUM=double"])
    {:ok, {long, _, _, logp}} = call(path, 20)
    assert {:ok, {short, _, _, few}} = call(path, 3)
    assert binary_part(long, 0, byte_size(short)) == short
    assert binary_part(logp, 0, byte_size(few)) == few
    assert call(path, 20) == call(path, 20)
  end

  test "a shader that the node has let go of is sent again", context do
    path = context.compile.("good", ["-DNUM=double"])
    want = call(path, 5)
    key = :crypto.hash(:sha256, File.read!(path))

    []
    |> NxVulkanGo.Session.Registry.fetch!()
    |> NxVulkanGo.Session.instruct({:forget, [], [], [[key]]})

    assert {:ok, _} = want
    assert call(path, 5) == want
  end

  test "instances of a batch are what they are alone", context do
    path = context.compile.("good", ["-DNUM=double"])
    {:ok, {q, p, grad, logp}} = call(path, 4, 0.2, [0.5, 1.0], [1.0, 1.0])
    {:ok, {q2, p2, grad2, logp2}} = call(path, 4, 0.2, [3.0, -1.0], [0.0, 0.5])
    both = &doubles/1

    assert V.leapfrog_chain_synth_batch_f64(
             both.([0.5, 1.0, 3.0, -1.0]),
             both.([1.0, 1.0, 0.0, 0.5]),
             both.([1.0, 1.0, 1.0, 1.0]),
             push(4, 0, 2, 0.2, 2),
             4,
             path
           ) == {:ok, {q <> q2, p <> p2, grad <> grad2, logp <> logp2}}
  end

  test "many callers at once get what they would get alone", context do
    path = context.compile.("good", ["-DNUM=double"])
    {:ok, _} = call(path, 1)

    1..100
    |> Task.async_stream(
      fn i ->
        {i, for(k <- [8, 3, 8], do: call(path, k, 0.1, [i / 8, 1.0 - i], [0.3, i / 4]))}
      end,
      max_concurrency: 50,
      timeout: 60_000
    )
    |> Enum.each(fn {:ok, {i, rows}} ->
      want = for k <- [8, 3, 8], do: {:ok, steps([i / 8, 1.0 - i], [0.3, i / 4], 0.1, k)}
      assert rows == want
    end)
  end

  test "data come before the metric, and f32 has a push block of its own", context do
    path = context.compile.("good", ["-DNUM=double"])

    {:ok, {q, _, _, _}} =
      V.leapfrog_chain_synth_f64(
        doubles([1.0]),
        doubles([0.0]),
        doubles([3.0, 1.0]),
        push(1, 1, 1, 0.5),
        1,
        path
      )

    assert read(q) == [1.25]
    single = context.compile.("single", ["-DNUM=float"])
    header = <<2::32-little, 0::32, 1::32-little, 0::32, 0.5::float-32-little>>
    one = <<1.0::float-32-little>>
    {:ok, {q, _, _, _}} = V.leapfrog_chain_synth(one, <<0::32>>, one, header, 2, single)
    assert q == <<0.875::float-32-little, 0.53125::float-32-little>>
  end

  test "processes take steps at the same time", context do
    path = context.compile.("good", ["-DNUM=double"])
    want = call(path, 16)

    assert 1..20
           |> Task.async_stream(fn _ -> call(path, 16) end, max_concurrency: 10)
           |> Enum.all?(&(&1 == {:ok, want}))
  end

  test "a file that changes is another shader", context do
    path = context.compile.("file", ["-DNUM=double", "-DONE"])
    {:ok, _} = call(path, 1)
    File.write!(path, :binary.copy(<<0>>, 100))
    assert {:error, :dispatch_failed, _} = call(path, 1)
  end

  test "a density that lags is told of once, and put right unless that is off", context do
    me = self()
    id = "lag of #{inspect(me)}"
    tell = fn _, %{count: 1}, %{path: path}, _ -> send(me, {:lags, path}) end
    :telemetry.attach(id, [:nx_vulkan_go, :shader, :lag], tell, nil)
    on_exit(fn -> :telemetry.detach(id) end)

    [good, late] =
      for {name, lag} <- [{"good", []}, {"late", ["-DLAG"]}],
          do: context.compile.(name, ["-DNUM=double" | lag])

    {:ok, rows} = call(good, 3)
    assert call(late, 3) == {:ok, rows}
    assert call(late, 3) == {:ok, rows}
    assert_received {:lags, ^late}
    refute_received {:lags, ^late}
    refute_received {:lags, ^good}

    Application.put_env(:nx_vulkan, :correct_lag, false)
    on_exit(fn -> Application.delete_env(:nx_vulkan, :correct_lag) end)
    {:ok, {q, p, grad, logp}} = call(late, 3)
    assert {q, p, grad} == Tuple.delete_at(rows, 3)
    refute logp == elem(rows, 3)
  end

  test "bad input is an error, and the next call works", context do
    path = context.compile.("good", ["-DNUM=double"])
    one = doubles([1.0])
    run = &V.leapfrog_chain_synth_f64(&1, &2, &3, &4, &5, path)
    assert run.(one, doubles([1.0, 2.0]), one, push(1, 0, 1, 0.1), 1) == {:error, :size_mismatch}
    assert run.(one, one, doubles([]), push(1, 0, 1, 0.1), 1) == {:error, :size_mismatch}
    assert run.(<<>>, <<>>, <<>>, push(1, 0, 0, 0.1), 1) == {:error, :size_mismatch}
    assert run.(one, one, one, push(0, 0, 1, 0.1), 0) == {:error, :bad_input}
    assert run.(one, one, one, push(2, 0, 1, 0.1), 1) == {:error, :bad_input}
    assert run.(one, one, one, push(1, 0, 1, 0.0), 1) == {:error, :bad_input}
    assert run.(one, one, one, <<>>, 1) == {:error, :bad_input}
    nan = <<0, 0, 0, 0, 0, 0, 0xF8, 0x7F>>
    <<header::binary-16, _::binary>> = push(1, 0, 1, 0.1)
    assert run.(one, one, one, header <> nan, 1) == {:error, :bad_input}
    assert run.(one, one, one, :binary.copy(<<1>>, 129), 1) == {:error, :bad_input}
    wide = doubles(List.duplicate(0.0, 257))
    assert run.(wide, wide, wide, push(1, 0, 257, 0.1), 1) == {:error, :bad_input}
    assert {:error, :dispatch_failed, text} = run.(nan, one, one, push(1, 0, 1, 0.1), 1)
    assert text =~ "finite"
    assert {:ok, _} = call(path, 1)
  end

  test "files that are no such shader are refused", context do
    good = File.read!(context.compile.("good", ["-DNUM=double"]))
    <<magic::binary-4, _version::binary-4, rest::binary>> = good

    for {name, bytes} <- [
          truncated: binary_part(good, 0, 400),
          version: magic <> <<0, 9, 9, 0>> <> rest,
          random: :rand.bytes(1000),
          headless: binary_part(good, 0, 20),
          bindings: File.read!(context.compile.("bindings", ["-DNUM=double", "-DLAST=7"])),
          empty: ""
        ] do
      path = Path.join(context.dir, "#{name}.spv")
      File.write!(path, bytes)
      assert {:error, :dispatch_failed, _} = call(path, 1)
    end

    assert {:error, :dispatch_failed, text} = call(Path.join(context.dir, "missing.spv"), 1)
    assert text =~ "no such file"
    assert {:ok, _} = call(context.compile.("good", ["-DNUM=double"]), 1)
  end
end
