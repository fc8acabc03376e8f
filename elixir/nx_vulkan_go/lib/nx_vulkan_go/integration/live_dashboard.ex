# A page of Phoenix LiveDashboard, where a project has that.
if Code.ensure_loaded?(Phoenix.LiveDashboard.PageBuilder) do
  defmodule NxVulkanGo.LiveDashboard do
    @moduledoc """
    A page of [Phoenix LiveDashboard](https://hexdocs.pm/phoenix_live_dashboard): devices,
    sessions, kernels, fallbacks and chains of an nxvk node. It exists where the project depends on
    `:phoenix_live_dashboard`.

        # in the router
        live_dashboard "/dashboard",
          additional_pages: [nxvk: NxVulkanGo.LiveDashboard]

    The page asks the server that is configured on the BEAM node which the dashboard shows; an
    option names another: `nxvk: {NxVulkanGo.LiveDashboard, server: :"nxvk@10.0.0.7"}`. It starts
    no server.

    With `allow_destructive_actions: true` in the options of `live_dashboard`, each session has a
    button that closes it: its memory is freed, its tensors are stale, and its VM opens another
    session at the next operation. A VM may close its own sessions. Those of others have the button
    only where the node runs with `--allow-close`; see `NxVulkanGo.close_session/2`.
    """

    use Phoenix.LiveDashboard.PageBuilder

    alias NxVulkanGo.Overview

    @impl true
    def init(options) do
      server = Keyword.validate!(options, server: nil)[:server]
      {:ok, %{options: if(server, do: [server: server], else: [])}, module: Overview}
    end

    @impl true
    def menu_link(_session, %{modules: modules}) do
      if Overview in modules, do: {:ok, "nxvk"}, else: :skip
    end

    @impl true
    def mount(_params, session, socket) do
      {:ok, assign(socket, options: session.options, message: nil)}
    end

    @impl true
    def render(assigns) do
      assigns = assign(assigns, :trouble, trouble(assigns.page.node, assigns.options))

      ~H"""
      <p :if={@message} id="nxvk-message" role="status"><%= @message %></p>
      <p :if={@trouble} id="nxvk-trouble" role="alert"><%= @trouble %></p>
      <.live_nav_bar :if={!@trouble} id="nxvk-nav" page={@page}>
        <:item :for={tab <- tabs()} name={tab}></:item>
      </.live_nav_bar>
      <.tab :if={!@trouble} name={current(@page.params)} page={@page} options={@options} />
      """
    end

    # The tables are not in the slots of the navigation, which does not render these again.
    @tabs ~w(devices sessions kernels fallbacks chains)

    defp tabs, do: @tabs
    defp current(%{"nav" => tab}) when tab in @tabs, do: tab
    defp current(_params), do: hd(@tabs)

    defp tab(%{name: "devices"} = assigns) do
      ~H"""
      <.live_table id="nxvk-devices" dom_id="nxvk-devices" page={@page} title="Devices"
        row_fetcher={fetcher(:devices, @options)} default_sort_by={:index} search={false} limit={false}>
        <:col field={:index} header="Device" sortable={:asc} />
        <:col field={:name} />
        <:col field={:kind} />
        <:col field={:driver} />
        <:col :let={d} field={:used} header="Memory used" text_align="right"><%= Overview.cell(:used, d.used) %></:col>
        <:col :let={d} field={:memory} header="Memory" text_align="right"><%= Overview.cell(:memory, d.memory) %></:col>
        <:col field={:sessions} text_align="right" />
        <:col field={:queued} header="Messages queued" text_align="right" />
      </.live_table>
      """
    end

    defp tab(%{name: "sessions"} = assigns) do
      ~H"""
      <.live_table id="nxvk-sessions" dom_id="nxvk-sessions" page={@page} title="Sessions"
        row_fetcher={fetcher(:sessions, @options)} default_sort_by={:bytes}>
        <:col field={:device} sortable={:asc} />
        <:col field={:label} sortable={:asc} />
        <:col field={:owner} header="Process" />
        <:col :let={s} field={:bytes} text_align="right" sortable={:desc}><%= Overview.cell(:bytes, s.bytes) %></:col>
        <:col field={:buffers} header="Values" text_align="right" sortable={:desc} />
        <:col field={:waiting} header="Queue" text_align="right" sortable={:desc} />
        <:col field={:waits_for} header="Waits for" />
        <:col :let={s} field={:closable} header="">
          <button :if={@page.allow_destructive_actions and s.closable} type="button"
            class="btn btn-sm btn-danger" phx-click="close_session" phx-value-session={s.id}
            data-confirm={"Close the session #{s.label} and free its values?"}>
            Close
          </button>
        </:col>
      </.live_table>
      """
    end

    defp tab(%{name: "kernels"} = assigns) do
      ~H"""
      <.live_table id="nxvk-kernels" dom_id="nxvk-kernels" page={@page} title="Kernels"
        row_fetcher={fetcher(:kernels, @options)} default_sort_by={:seconds}
        hint="The kernels that took each device longest, by estimates that measured times correct">
        <:col field={:device} sortable={:asc} />
        <:col field={:op} header="First run by" sortable={:asc} />
        <:col field={:name} header="Kernel" />
        <:col field={:dispatches} text_align="right" sortable={:desc} />
        <:col :let={k} field={:seconds} header="Device time" text_align="right" sortable={:desc}>
          <%= Overview.cell(:seconds, k.seconds) %>
        </:col>
      </.live_table>
      """
    end

    defp tab(%{name: "fallbacks"} = assigns) do
      ~H"""
      <.live_table id="nxvk-fallbacks" dom_id="nxvk-fallbacks" page={@page} title="Fallbacks"
        row_fetcher={fetcher(:fallbacks, @options)} default_sort_by={:device} search={false} limit={false}
        hint="Instructions, and where they were executed">
        <:col field={:device} sortable={:asc} />
        <:col field={:instructions} text_align="right" />
        <:col field={:host} header="On the host" text_align="right" />
        <:col field={:fallbacks} header="Because the device cannot" text_align="right" />
        <:col field={:refused} header="Kernels the driver refused" text_align="right" />
        <:col field={:failed} text_align="right" />
      </.live_table>
      """
    end

    defp tab(%{name: "chains"} = assigns) do
      ~H"""
      <.live_table id="nxvk-chains" dom_id="nxvk-chains" page={@page} title="Chains"
        row_fetcher={fetcher(:chains, @options)} default_sort_by={:label}>
        <:col field={:device} sortable={:asc} />
        <:col field={:label} sortable={:asc} />
        <:col field={:run} text_align="right" />
        <:col field={:chain} text_align="right" />
        <:col :let={c} field={:warmup} header="Warm-up" text_align="right"><%= c.warmup %> / <%= c.warmup_of %></:col>
        <:col :let={c} field={:draws} text_align="right"><%= c.draws %> / <%= c.draws_of %></:col>
        <:col field={:divergent} text_align="right" sortable={:desc} />
        <:col field={:steps} header="Leapfrog steps" text_align="right" />
        <:col :let={c} field={:step_size} header="Step size" text_align="right">
          <%= Overview.cell(:step_size, c.step_size) %>
        </:col>
      </.live_table>
      """
    end

    @impl true
    def handle_event("close_session", %{"session" => id}, socket) do
      %{page: page, options: options} = socket.assigns

      # The button is not there, but anybody can send the event.
      message =
        if page.allow_destructive_actions,
          do: run(page.node, :close, [id, options]),
          else: "The dashboard has no option allow_destructive_actions: true."

      {:noreply, socket |> assign(:message, message) |> refresh(page)}
    end

    @impl true
    def handle_refresh(socket), do: {:noreply, assign(socket, :message, nil)}

    # The tables fetch their rows again.
    defp refresh(socket, page), do: assign(socket, :page, %{page | tick: page.tick + 1})

    ## What the BEAM node of the page knows

    defp fetcher(table, options) do
      fn params, node ->
        case run(node, :rows, [table, options]) do
          rows when is_list(rows) -> select(rows, params)
          _trouble -> {[], 0}
        end
      end
    end

    defp trouble(node, options) do
      case run(node, :state, [options]) do
        :ok -> nil
        trouble -> trouble
      end
    end

    defp run(node, function, args) when node == node(), do: apply(Overview, function, args)

    defp run(node, function, args) do
      :erpc.call(node, Overview, function, args, 30_000)
    catch
      :error, {:erpc, reason} -> "#{node} does not answer: #{inspect(reason)}"
    end

    ## Tables

    @doc false
    def select(rows, params) do
      found = Enum.filter(rows, &found?(&1, params[:search]))
      sorted = Enum.sort_by(found, & &1[params.sort_by], params.sort_dir)
      {if(params[:limit], do: Enum.take(sorted, params.limit), else: sorted), length(found)}
    end

    defp found?(_row, search) when search in [nil, ""], do: true

    defp found?(row, search) do
      search = String.downcase(search)
      Enum.any?(Map.values(row), &(is_binary(&1) and String.downcase(&1) =~ search))
    end
  end
end
