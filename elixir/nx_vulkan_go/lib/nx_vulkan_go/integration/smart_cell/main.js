// The form of NxVulkanGo.SmartCell. What the server sends is set as text and values, never as HTML.
export function init(ctx, payload) {
  ctx.importCSS("main.css");

  const root = element("form", { className: "nxvk" });
  root.addEventListener("submit", (event) => event.preventDefault());
  ctx.root.appendChild(root);

  const inputs = {};
  let devices = payload.devices;

  root.append(
    row("Server", text("server", "this machine"), "Cookie secret", text("cookie_secret", "NAME in Livebook")),
    row("Device", select("device", []), button("List devices", () => ctx.pushEvent("list", {}))),
    row("Default backend", checkbox("backend"), "Compile defn", checkbox("compiler")),
    row(
      "Fallbacks",
      select("fallback", payload.fallbacks.map((name) => [name, name])),
      "Overview",
      checkbox("overview"),
    ),
  );

  const trouble = element("p", { className: "trouble" });
  trouble.setAttribute("role", "alert");
  root.append(trouble);

  showDevices(payload.fields.device);
  show(payload.fields, payload.trouble);

  ctx.handleEvent("update", (event) => show(event.fields, event.trouble));
  ctx.handleEvent("devices", (event) => {
    devices = event.devices;
    showDevices(Number(inputs.device.value));
    trouble.textContent = event.trouble || "";
  });
  ctx.handleSync(() => {
    // A field that is being edited has not told of its change.
    if (root.contains(document.activeElement)) {
      document.activeElement.dispatchEvent(new Event("change"));
    }
  });

  function show(fields, message) {
    for (const [name, value] of Object.entries(fields)) {
      const input = inputs[name];
      if (name === "device") {
        showDevices(value);
      } else if (input.type === "checkbox") {
        input.checked = value;
      } else {
        input.value = value;
      }
    }
    trouble.textContent = message || "";
  }

  // The device that is chosen is offered, whether it is listed or not.
  function showDevices(chosen) {
    const options = devices.map(({ index, name }) => [index, name]);
    if (!devices.some(({ index }) => index === chosen)) {
      options.push([chosen, String(chosen)]);
    }
    inputs.device.replaceChildren(...options.map(option));
    inputs.device.value = String(chosen);
  }

  function push(field, value) {
    ctx.pushEvent("update", { field, value });
  }

  function element(tag, properties) {
    return Object.assign(document.createElement(tag), properties);
  }

  function row(...items) {
    const line = element("div", { className: "row" });
    for (let i = 0; i < items.length; i++) {
      if (typeof items[i] === "string") {
        const label = element("label", {});
        label.append(element("span", { textContent: items[i] }), items[++i]);
        line.append(label);
      } else {
        line.append(items[i]);
      }
    }
    return line;
  }

  function text(name, placeholder) {
    const input = element("input", { type: "text", placeholder, maxLength: 255 });
    input.addEventListener("change", () => push(name, input.value));
    return (inputs[name] = input);
  }

  function checkbox(name) {
    const input = element("input", { type: "checkbox" });
    input.addEventListener("change", () => push(name, input.checked));
    return (inputs[name] = input);
  }

  function option([value, label]) {
    return element("option", { value: String(value), textContent: label });
  }

  function select(name, options) {
    const input = element("select", {});
    input.replaceChildren(...options.map(option));
    input.addEventListener("change", () => {
      push(name, name === "device" ? Number(input.value) : input.value);
    });
    return (inputs[name] = input);
  }

  function button(label, action) {
    const input = element("button", { type: "button", textContent: label });
    input.addEventListener("click", action);
    return input;
  }
}
