defmodule NxVulkanGo.Launcher.LivebookTest do
  # Cells of a notebook, in a VM like the one that Livebook starts.
  use ExUnit.Case, async: true

  alias NxVulkanGo.Notebook

  @moduletag :tmp_dir
  @moduletag :launched

  @backend "Nx.default_backend(NxVulkanGo.Backend)"

  defp layer(factor),
    do: "defmodule Layer do\n  import Nx.Defn\n  defn f(x), do: x * #{factor}\nend"

  defp model(term),
    do: "defmodule Model do\n  import Nx.Defn\n  defn f(x), do: Layer.f(x) + #{term}\nend"

  @call "Nx.to_list(Nx.Defn.jit(&Model.f/1, compiler: NxVulkanGo).(t))"

  test "tensors and modules go from cell to cell", %{tmp_dir: dir} do
    cells =
      Notebook.run!(dir, [
        {:cell, :tensor, "#{@backend}\nt = Nx.tensor([1, 2, 3])"},
        {:cell, :layer, layer(2)},
        {:cell, :model, model(1)},
        {:cell, :eager, "Nx.to_list(Model.f(t))"},
        {:cell, :compiled, @call},
        {:cell, :node, "s = Nx.iota({1000}).data.session\n{node(), s.address == s.pid}"}
      ])

    assert cells.tensor.value =~ "[1, 2, 3]"
    assert cells.eager.value == "[3, 5, 7]"
    assert cells.compiled.value == "[3, 5, 7]"
    # The VM has a long name, and so its own distribution is used.
    assert cells.node.value =~ ~r/^\{:"livebook_\w+--runtime@127.0.0.1", true\}$/
  end

  test "a module that is defined again is compiled again, also where another one calls it",
       %{tmp_dir: dir} do
    cells =
      Notebook.run!(dir, [
        {:cell, :tensor, "#{@backend}\nt = Nx.tensor([1, 2, 3])"},
        {:cell, :layer, layer(2)},
        {:cell, :model, model(1)},
        {:cell, :first, @call},
        {:cell, :model, model(10)},
        {:cell, :second, @call},
        {:cell, :layer, layer(100)},
        {:cell, :third, @call},
        {:cell, :layer, layer(100)},
        {:cell, :fourth, @call},
        {:cell, :anonymous,
         "f = Nx.Defn.jit(&Layer.f(&1), compiler: NxVulkanGo)\nNx.to_list(f.(t))"},
        {:cell, :layer, layer(3)},
        {:cell, :kept, "Nx.to_list(f.(t))"}
      ])

    assert cells.first.value == "[3, 5, 7]"
    assert cells.second.value == "[12, 14, 16]"
    assert cells.third.value == "[110, 210, 310]"
    assert cells.fourth.value == "[110, 210, 310]"
    assert cells.anonymous.value == "[100, 200, 300]"
    assert cells.kept.value == "[3, 6, 9]"
  end

  test "a new evaluator finds the memory of the one before free", %{tmp_dir: dir} do
    cells =
      Notebook.run!(dir, [
        {:cell, :make,
         "#{@backend}\nkept = for i <- 1..100, do: Nx.iota({i + 1000})\nNx.to_number(hd(kept)[0])"},
        :reconnect,
        {:cell, :swept, "NxVulkanGo.sweep()\nNxVulkanGo.memory().session.buffers"},
        {:cell, :binding, "binding()"},
        {:cell, :next, "#{@backend}\nNx.to_list(Nx.add(Nx.iota({3}), 1))"}
      ])

    assert cells.make.value == "0"
    assert cells.swept.value == "0"
    assert cells.binding.value == "[]"
    assert cells.next.value == "[1, 2, 3]"
  end

  test "an evaluator that is killed while a loop runs takes the loop along", %{tmp_dir: dir} do
    endless = """
    #{@backend}
    defmodule Endless do
      import Nx.Defn
      defn run(x), do: while(x, x >= 0, do: x * 1)
    end

    x = Nx.Defn.jit(&Endless.run/1, compiler: NxVulkanGo).(Nx.tensor(1))
    IO.puts("running")
    Nx.to_number(x)
    """

    cells =
      Notebook.run!(dir, [
        {:kill_when, "running"},
        {:cell, :endless, endless},
        :reconnect,
        # It waits for everything that was sent before.
        {:cell, :synced, "NxVulkanGo.sweep()\nNxVulkanGo.sync()"},
        {:cell, :next, "#{@backend}\nNx.to_list(Nx.add(Nx.iota({3}), 1))"}
      ])

    assert cells.endless.error == ":killed"
    assert cells.synced.value == ":ok"
    assert cells.next.value == "[1, 2, 3]"
  end

  test "hooks print in the cell, and late errors name it", %{tmp_dir: dir} do
    cells =
      Notebook.run!(
        dir,
        [
          {:cell, :hook,
           """
           #{@backend}
           t = Nx.tensor([1, 2, 3])
           f = fn x -> Nx.Defn.Kernel.print_value(Nx.add(x, 1), label: "value") end
           Nx.to_list(Nx.Defn.jit(f, compiler: NxVulkanGo).(t))
           """},
          {:cell, :sent, "bad = Nx.take(t, Nx.add(Nx.tensor([7]), 0))\n:sent"},
          {:cell, :read, "Nx.to_list(bad)"}
        ],
        env: [{"NXVK_CHECK", "debug"}]
      )

    assert cells.hook.value == "[2, 3, 4]"
    assert cells.hook.output =~ ~r/value: #Nx.Tensor<.*\[2, 3, 4\]/s
    assert cells.sent.value == ":sent"
    assert cells.read.error =~ "sent by /notebook.livemd#cell:sent (bad_argument)"
  end

  test "the progress of a build is shown in the cell that waits for it", %{tmp_dir: dir} do
    told = Path.join(dir, "told")
    # It builds until that has been told, and then fails.
    build = "echo nxvk/ops; until [ -e #{told} ]; do sleep 0.05; done; echo no such thing; exit 1"
    go = Path.join(dir, "go")
    File.write!(go, "#!/bin/sh\n[ $1 = env ] && echo 1 && exit\n#{build}\n")
    File.chmod!(go, 0o755)

    cells =
      Notebook.run!(dir, [{:cell, :first, "#{@backend}\nNx.iota({1000}) |> Nx.add(1)"}],
        env: [{"PATH", "#{dir}:#{System.get_env("PATH")}"}, {"NXVK_NODE", nil}],
        touch: {"building nxvk-node", told}
      )

    assert cells.first.output =~
             "nx_vulkan_go: building nxvk-node; the first time takes some minutes"

    assert cells.first.error =~ "(cannot_build)"
  end
end
