// Passkeys: the device makes or shows one, and an ordinary form carries it to us.

const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function written(credential) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[name]) response[name] = text(credential.response[name]);
  }
  return JSON.stringify({
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    clientExtensionResults: credential.getClientExtensionResults(),
    response,
  });
}

async function make(form) {
  const { challenge, rp, user, name } = form.dataset;
  return navigator.credentials.create({
    publicKey: {
      challenge: bytes(challenge),
      rp: { id: rp, name: "Leyden" },
      user: { id: new TextEncoder().encode(user), name, displayName: name },
      pubKeyCredParams: [{ type: "public-key", alg: -7 }, { type: "public-key", alg: -257 }],
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      excludeCredentials: form.dataset.known.split(" ").filter(Boolean)
        .map((id) => ({ type: "public-key", id: bytes(id) })),
    },
  });
}

async function show(form) {
  return navigator.credentials.get({
    publicKey: {
      challenge: bytes(form.dataset.challenge),
      rpId: form.dataset.rp,
      userVerification: "required",
    },
  });
}

const ways = { make, show };

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const able = window.PublicKeyCredential && form.dataset.rp && !/^[0-9.]+$|:/.test(form.dataset.rp);
  form.hidden = !able;
  form.addEventListener("submit", async (event) => {
    const field = form.querySelector("[name=credential]");
    if (field.value) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    try {
      field.value = written(await ways[form.dataset.passkey](form));
      form.requestSubmit();
    } catch (error) {
      const said = form.querySelector("[role=alert]");
      said.textContent = error.name === "InvalidStateError"
        ? "This device already has a passkey for you."
        : "No passkey was used. Try again, or use your password.";
      said.hidden = false;
    }
  }, true);
}
