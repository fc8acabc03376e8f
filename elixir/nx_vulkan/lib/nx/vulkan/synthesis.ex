defmodule Nx.Vulkan.Synthesis do
  @moduledoc """
  Makes leapfrog shaders of the densities of `Nx.Vulkan.ChainShaderSpecs`.

  The GLSL is that of a template. `glslangValidator`, which must be in the `PATH`, compiles it
  once: a SPIR-V file has the hash of its GLSL as its name. `config :nx_vulkan, shader_cache:
  path` names the folder of the files (default: a folder of the user's cache).
  """

  alias Nx.Vulkan.ChainShaderSpecs, as: Spec

  @type reason :: :no_glslang | {:glslang, String.t()} | {:file, Path.t(), String.t()}

  @doc "Compiles a density; returns the path of its SPIR-V file."
  @spec compile(Spec.t()) :: {:ok, Path.t()} | {:error, reason}
  def compile(%Spec{} = spec),
    do: with({:ok, path, _glsl} <- compile_with_source(spec), do: {:ok, path})

  @doc "Compiles a density; returns the path of its SPIR-V file, and its GLSL."
  @spec compile_with_source(Spec.t()) :: {:ok, Path.t(), String.t()} | {:error, reason}
  def compile_with_source(%Spec{} = spec) do
    glsl = render(spec)
    name = :sha256 |> :crypto.hash(glsl) |> Base.encode16(case: :lower)
    path = Path.join(folder(), "chain_#{name}.spv")

    if File.regular?(path) do
      {:ok, path, glsl}
    else
      with :ok <- glslang(glsl, path), do: {:ok, path, glsl}
    end
  end

  @doc "Deletes all compiled files."
  @spec clear_cache :: :ok
  def clear_cache do
    folder() |> Path.join("chain_*.spv") |> Path.wildcard() |> Enum.each(&File.rm/1)
  end

  defp folder do
    Application.get_env(:nx_vulkan, :shader_cache) ||
      :user_cache |> :filename.basedir("nx_vulkan") |> Path.join("shaders")
  end

  # Another process may compile the same density: each writes files of its own, and renames
  # them at the end.
  defp glslang(glsl, path) do
    base = "#{path}.#{System.unique_integer([:positive])}-#{System.pid()}"
    source = base <> ".comp"

    with {:ok, program} <- program(),
         :ok <- file(Path.dirname(path), &File.mkdir_p/1),
         :ok <- file(source, &File.write(&1, glsl)) do
      try do
        case System.cmd(program, ["-V", "-o", base, source], stderr_to_stdout: true) do
          {_text, 0} -> file(path, &File.rename(base, &1))
          {text, _status} -> {:error, {:glslang, String.replace(text, source, "density")}}
        end
      after
        Enum.each([source, base], &File.rm/1)
      end
    end
  end

  defp program do
    case System.find_executable("glslangValidator") do
      nil -> {:error, :no_glslang}
      path -> {:ok, path}
    end
  end

  defp file(path, fun) do
    with {:error, reason} <- fun.(path),
         do: {:error, {:file, path, "#{:file.format_error(reason)}"}}
  end

  # The buffers and the push block are those of `Nx.Vulkan.NativeV`. Each invocation has one
  # parameter. The gradient at the end of a step is that at the beginning of the next one.
  defp render(%Spec{params: params} = spec) do
    numbers = Enum.map_join(params, ", ", &"float #{&1}")

    arguments =
      Enum.map_join(Enum.with_index(params), ", ", fn {_, i} -> "extras[data + #{i}]" end)

    """
    // #{spec.name}
    #version 450
    layout(local_size_x = 256) in;
    layout(push_constant) uniform Push { uint K, n_obs, d, instances; float eps; } pc;
    layout(std430, set = 0, binding = 0) readonly buffer InQ { float q_init[]; };
    layout(std430, set = 0, binding = 1) readonly buffer InP { float p_init[]; };
    layout(std430, set = 0, binding = 2) readonly buffer InExtras { float extras[]; };
    layout(std430, set = 0, binding = 3) writeonly buffer OutQ { float q_chain[]; };
    layout(std430, set = 0, binding = 4) writeonly buffer OutP { float p_chain[]; };
    layout(std430, set = 0, binding = 5) writeonly buffer OutGrad { float grad_chain[]; };
    layout(std430, set = 0, binding = 6) writeonly buffer OutLogp { float logp_chain[]; };
    shared float partial[256];

    #{spec.functions}
    float log_density(float q, #{numbers}) { return #{spec.log_density}; }
    float gradient(float q, #{numbers}) { return #{spec.gradient}; }

    void main() {
        uint instance = gl_WorkGroupID.x, i = gl_LocalInvocationID.x;
        uint data = instance * (pc.n_obs + pc.d);
        bool mine = i < pc.d;
        float q = mine ? q_init[instance * pc.d + i] : 0.0;
        float p = mine ? p_init[instance * pc.d + i] : 0.0;
        float inverse_mass = mine ? extras[data + pc.n_obs + i] : 0.0;
        float g = gradient(q, #{arguments});
        for (uint k = 0; k < pc.K; k++) {
            p += 0.5 * pc.eps * g;
            q += pc.eps * inverse_mass * p;
            g = gradient(q, #{arguments});
            p += 0.5 * pc.eps * g;
            uint row = instance * pc.K + k;
            if (mine) {
                q_chain[row * pc.d + i] = q;
                p_chain[row * pc.d + i] = p;
                grad_chain[row * pc.d + i] = g;
            }
            partial[i] = mine ? log_density(q, #{arguments}) : 0.0;
            for (uint left = 128; left > 0; left /= 2) {
                barrier();
                if (i < left) partial[i] += partial[i + left];
            }
            if (i == 0) logp_chain[row] = partial[0];
            barrier();
        }
    }
    """
  end
end
