# A smart cell of Livebook, where a project has Kino.
if Code.ensure_loaded?(Kino.SmartCell) do
  defmodule NxVulkanGo.SmartCell do
    @moduledoc """
    A smart cell of Livebook, "Nx on a Vulkan device": it writes the code that makes a device the
    default of Nx. It exists where a notebook has `:kino`, and registers itself.

    The fields are the server (empty for that of this machine), the secret of Livebook with its
    cookie, the device, whether tensors and `defn` use it, what happens to operations that the node
    cannot compute, and whether the cell shows an overview. The code is what anybody would write:

        Application.put_env(:nx_vulkan_go, :cookie, System.fetch_env!("LB_GPU_COOKIE"))
        Nx.global_default_backend({NxVulkanGo.Backend, server: :"nxvk@10.0.0.7", device: 1})
        Nx.Defn.global_default_options(compiler: NxVulkanGo, server: :"nxvk@10.0.0.7", device: 1)
        NxVulkanGo.overview(server: :"nxvk@10.0.0.7")
    """

    use Kino.JS, assets_path: "lib/nx_vulkan_go/integration/smart_cell"
    use Kino.JS.Live
    use Kino.SmartCell, name: "Nx on a Vulkan device"

    @fallbacks ~w(warn silent raise)

    @defaults %{
      "server" => "",
      "cookie_secret" => "",
      "device" => 0,
      "backend" => true,
      "compiler" => true,
      "fallback" => "warn",
      "overview" => true
    }

    @doc false
    def register, do: Kino.SmartCell.register(__MODULE__)

    @impl true
    def init(attrs, ctx) do
      fields =
        Map.new(@defaults, fn {name, default} -> {name, read(name, attrs[name], default)} end)

      {:ok, assign(ctx, fields: fields, devices: [], trouble: nil)}
    end

    @impl true
    def handle_connect(ctx) do
      {:ok,
       Map.merge(Map.take(ctx.assigns, [:fields, :devices, :trouble]), %{fallbacks: @fallbacks}),
       ctx}
    end

    @impl true
    def handle_event("update", %{"field" => name, "value" => value}, ctx)
        when is_map_key(@defaults, name) do
      value = read(name, value, ctx.assigns.fields[name])
      fields = Map.put(ctx.assigns.fields, name, value)
      ctx = assign(ctx, fields: fields, trouble: trouble(fields))
      broadcast_event(ctx, "update", %{"fields" => fields, "trouble" => ctx.assigns.trouble})
      {:noreply, ctx}
    end

    # Starting a server may take a while, so the cell does not wait.
    def handle_event("list", _payload, ctx) do
      cell = self()
      fields = ctx.assigns.fields
      spawn(fn -> send(cell, {:devices, list(fields)}) end)
      {:noreply, ctx}
    end

    @impl true
    def handle_info({:devices, answer}, ctx) do
      {devices, trouble} =
        case answer do
          {:ok, devices} -> {devices, nil}
          {:error, text} -> {[], text}
        end

      broadcast_event(ctx, "devices", %{"devices" => devices, "trouble" => trouble})
      {:noreply, assign(ctx, devices: devices, trouble: trouble)}
    end

    @impl true
    def to_attrs(ctx), do: ctx.assigns.fields

    @impl true
    def to_source(attrs) do
      fields = Map.merge(@defaults, attrs)

      if trouble(fields) do
        ""
      else
        [cookie(fields), fallback(fields), backend(fields), compiler(fields), overview(fields)]
        |> Enum.reject(&is_nil/1)
        |> Enum.map_join("\n", &Kino.SmartCell.quoted_to_string/1)
      end
    end

    ## The code

    defp cookie(%{"cookie_secret" => ""}), do: nil

    defp cookie(%{"cookie_secret" => name}) do
      quote do
        Application.put_env(:nx_vulkan_go, :cookie, System.fetch_env!(unquote("LB_" <> name)))
      end
    end

    defp fallback(%{"fallback" => "warn"}), do: nil

    defp fallback(%{"fallback" => policy}) do
      quote do:
              Application.put_env(
                :nx_vulkan_go,
                :fallback,
                unquote(String.to_existing_atom(policy))
              )
    end

    defp backend(%{"backend" => false}), do: nil

    defp backend(fields) do
      case place(fields) do
        [] -> quote do: Nx.global_default_backend(NxVulkanGo.Backend)
        place -> quote do: Nx.global_default_backend({NxVulkanGo.Backend, unquote(place)})
      end
    end

    defp compiler(%{"compiler" => false}), do: nil

    defp compiler(fields) do
      options = [compiler: quote(do: NxVulkanGo)] ++ place(fields)
      quote do: Nx.Defn.global_default_options(unquote(options))
    end

    defp overview(%{"overview" => false}), do: nil

    defp overview(fields) do
      case server(fields) do
        [] -> quote do: NxVulkanGo.overview()
        server -> quote do: NxVulkanGo.overview(unquote(server))
      end
    end

    defp place(fields) do
      server(fields) ++ if(fields["device"] == 0, do: [], else: [device: fields["device"]])
    end

    defp server(%{"server" => ""}), do: []
    defp server(%{"server" => name}), do: [server: String.to_atom(name)]

    ## The fields

    defp read(name, value, _)
         when name in ["backend", "compiler", "overview"] and is_boolean(value),
         do: value

    defp read("device", value, _) when is_integer(value) and value in 0..1023, do: value
    defp read("fallback", value, _) when value in @fallbacks, do: value

    defp read(name, value, _) when name in ["server", "cookie_secret"] and is_binary(value),
      do: String.trim(value)

    defp read(_name, _value, default), do: default

    defp trouble(%{"server" => server, "cookie_secret" => secret}) do
      cond do
        server != "" and not (byte_size(server) <= 255 and server =~ ~r/\A[^\s@]+@[^\s@]+\z/) ->
          "The server must be the name of a node, such as nxvk@10.0.0.7, or empty."

        secret != "" and not (secret =~ ~r/\A[A-Z0-9_]{1,100}\z/) ->
          "The secret must have the name of a secret of Livebook: capital letters, digits and underscores."

        true ->
          nil
      end
    end

    defp list(fields) do
      if text = trouble(fields) do
        {:error, text}
      else
        put_cookie(fields)
        devices = NxVulkanGo.devices(server(fields))

        {:ok,
         for(
           d <- devices,
           do: %{"index" => d.index, "name" => "#{d.index}: #{d.name} (#{d.kind})"}
         )}
      end
    rescue
      error -> {:error, Exception.message(error)}
    end

    defp put_cookie(%{"cookie_secret" => ""}), do: :ok

    defp put_cookie(%{"cookie_secret" => name}),
      do: Application.put_env(:nx_vulkan_go, :cookie, System.fetch_env!("LB_" <> name))
  end
end
