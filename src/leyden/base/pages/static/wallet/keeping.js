/**
 * The way to the worker that keeps what opened vaults left (keeper.js). A worker ends with
 * the last page that holds on to it, so every page of a tab in which a vault is open does.
 */

const FLAG = "vault"; // in the tab's storage: that one is open, and nothing more

/** Give a port to the worker, or undefined in browsers without shared workers. */
export function keeper() {
  try {
    const url = new URL("keeper.js", import.meta.url);
    // Without the extension it would end between two pages of one tab.
    return new SharedWorker(url, { name: "opened vaults", extendedLifetime: true }).port;
  } catch {
    return undefined;
  }
}

export const isOpen = () => sessionStorage.getItem(FLAG) !== null;

export function setOpen(open) {
  if (open) sessionStorage.setItem(FLAG, "open");
  else sessionStorage.removeItem(FLAG);
}
