if Code.ensure_loaded?(NxVulkanGo.LiveDashboard) and Code.ensure_loaded?(Floki) do
  defmodule NxVulkanGo.Integration.LiveDashboardTest do
    # The page as a browser sees it, of the node that the tests run on.
    use ExUnit.Case, async: false

    import Phoenix.ConnTest
    import Phoenix.LiveViewTest

    alias NxVulkanGo.{Error, Eventually}
    alias NxVulkanGo.LiveDashboard, as: Page

    defmodule Router do
      use Phoenix.Router
      import Phoenix.LiveDashboard.Router

      pipeline :browser do
        plug(:fetch_session)
      end

      scope "/" do
        pipe_through(:browser)

        live_dashboard("/dashboard",
          allow_destructive_actions: true,
          additional_pages: [
            nxvk: NxVulkanGo.LiveDashboard,
            nowhere: {NxVulkanGo.LiveDashboard, server: :"nobody@127.0.0.1"}
          ]
        )
      end

      forward("/", NxVulkanGo.Integration.LiveDashboardTest.ReadOnly)
    end

    defmodule ReadOnly do
      use Phoenix.Router
      import Phoenix.LiveDashboard.Router

      pipeline :browser do
        plug(:fetch_session)
      end

      scope "/" do
        pipe_through(:browser)

        live_dashboard("/readonly",
          live_session_name: :readonly,
          additional_pages: [nxvk: NxVulkanGo.LiveDashboard]
        )
      end
    end

    defmodule Endpoint do
      use Phoenix.Endpoint, otp_app: :phoenix_live_dashboard
      plug(Plug.Session, store: :cookie, key: "_test", signing_salt: "salt salt")
      plug(Router)
    end

    @endpoint Endpoint

    setup_all do
      Application.put_env(:phoenix, :json_library, Jason)

      Application.put_env(:phoenix_live_dashboard, Endpoint,
        secret_key_base: String.duplicate("secret", 12),
        live_view: [signing_salt: "salt salt"],
        pubsub_server: __MODULE__.PubSub
      )

      for app <- [:phoenix_live_dashboard, :phoenix_live_view, :phoenix],
          do: {:ok, _} = Application.ensure_all_started(app)

      start_supervised!({Phoenix.PubSub, name: __MODULE__.PubSub})
      start_supervised!(Endpoint)
      :ok
    end

    setup do
      Nx.default_backend(NxVulkanGo.Backend)
      :ok
    end

    defp open(tab, under \\ "dashboard") do
      {:ok, view, _} = live(build_conn(), "/#{under}/nxvk?nav=#{tab}")
      view
    end

    # The cells of a table, row by row.
    defp cells(view, id) do
      for row <- view |> render() |> Floki.parse_document!() |> Floki.find("##{id} tbody tr") do
        for cell <- Floki.find(row, "td"), do: cell |> Floki.text() |> String.trim()
      end
    end

    # Tables have as many rows as asked for, or the first of them.
    defp await(view, id, fun) do
      Eventually.eventually(fn ->
        send(view.pid, :refresh)
        fun.(cells(view, id))
      end)
    end

    test "devices have names, memory and sessions" do
      tensor = Nx.iota({1000}, type: :f32)
      NxVulkanGo.sync()
      [%{name: name, kind: kind} | _] = devices = NxVulkanGo.devices()
      rows = cells(open("devices"), "nxvk-devices")
      assert length(rows) == length(devices)
      assert ["0", ^name, shown, _driver, _used, _memory, sessions, _queued] = hd(rows)
      assert shown == Atom.to_string(kind)
      assert String.to_integer(sessions) >= 1
      assert Nx.shape(tensor) == {1000}
    end

    @tag :capture_log
    test "a session is shown and can be closed" do
      tensor = Nx.iota({100_000}, type: :f32)
      NxVulkanGo.sync()
      [%{label: label} = session] = for(%{closable: true} = s <- NxVulkanGo.sessions(), do: s)

      view = open("sessions")
      assert [[_device, ^label, process, bytes, values | _] | _] = cells(view, "nxvk-sessions")
      assert process == inspect(session.pid)
      assert bytes =~ ~r/^[\d.]+ [kMG]?B$/ and String.to_integer(values) >= 1

      assert view |> element("#nxvk-sessions button[phx-click=close_session]") |> render_click() =~
               "is closed."

      error = Eventually.eventually(fn -> stale(tensor) end)
      assert error.kind == :stale

      # The next operation opens another session.
      assert Nx.to_number(Nx.sum(Nx.iota({1000}, type: :s64))) == 499_500

      assert render_click(view, "close_session", %{"session" => "0 #PID<0.0.0>"}) =~
               "The session has ended already."
    end

    defp stale(tensor) do
      Nx.to_binary(tensor)
      nil
    rescue
      error in Error -> error
    end

    test "without allow_destructive_actions no session can be closed" do
      tensor = Nx.iota({1000}, type: :f32)
      NxVulkanGo.sync()
      view = open("sessions", "readonly")
      assert [_ | _] = cells(view, "nxvk-sessions")
      refute has_element?(view, "button[phx-click=close_session]")
      [%{device: device, pid: pid} | _] = NxVulkanGo.sessions()
      id = "#{device} #{inspect(pid)}"

      assert render_click(view, "close_session", %{"session" => id}) =~
               "allow_destructive_actions"

      assert byte_size(Nx.to_binary(tensor)) == 4000
    end

    test "rows are found, sorted and limited" do
      session = fn label -> %{label: label, bytes: 1} end
      rows = Enum.map(["a", "job"], session)

      assert {[%{label: "job"}], 1} =
               Page.select(rows, %{search: "JOB", sort_by: :label, sort_dir: :asc, limit: 5})

      {shown, 2} = Page.select(rows, %{search: nil, sort_by: :label, sort_dir: :desc, limit: 1})
      assert [%{label: "job"}] = shown
    end

    test "kernels and fallbacks have the numbers of the node" do
      Nx.to_binary(Nx.exp(Nx.iota({100_000}, type: :f32)))
      kernels = NxVulkanGo.kernels()
      assert length(cells(open("kernels"), "nxvk-kernels")) == min(length(kernels), 50)
      view = open("fallbacks")

      await(view, "nxvk-fallbacks", fn [["0", instructions | _] | _] ->
        String.to_integer(instructions) > 0
      end)
    end

    test "chains show how far they are" do
      density = fn q -> Nx.multiply(-0.5, Nx.sum(Nx.multiply(q, q))) end
      model = NxVulkanGo.Sampler.compile(density, Nx.template({2}, :f64))

      sampling =
        Task.async(fn ->
          NxVulkanGo.Sampler.nuts(model, chains: 2, draws: 10_000_000, progress: false)
        end)

      view = open("chains")
      await(view, "nxvk-chains", &(length(&1) == 2))
      assert [[_, _, _, _, _, draws | _] | _] = cells(view, "nxvk-chains")
      assert draws =~ ~r"^\d+ / 10000000$"
      Task.shutdown(sampling, :brutal_kill)
      await(view, "nxvk-chains", &(&1 == []))
    end

    test "a server that cannot be reached is said so" do
      {:ok, view, _} = live(build_conn(), "/dashboard/nowhere")
      assert view |> element("#nxvk-trouble") |> render() =~ "nobody@127.0.0.1"
    end

    test "a node without this package has no page" do
      assert {:ok, session, requirements} = Page.init(server: :a@b)
      assert Page.menu_link(session, %{modules: Keyword.values(requirements)}) == {:ok, "nxvk"}
      assert Page.menu_link(session, %{modules: []}) == :skip
      assert_raise ArgumentError, fn -> Page.init(serve: :x) end
    end
  end
else
  defmodule NxVulkanGo.Integration.LiveDashboardTest do
    use ExUnit.Case, async: false

    @tag skip: "phoenix_live_dashboard and floki are not dependencies of this build"
    test "devices have names, memory and sessions"
  end
end
