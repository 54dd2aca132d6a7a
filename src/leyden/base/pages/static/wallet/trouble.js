/**
 * What goes wrong, in words for people. Whatever is thrown here on purpose is a Trouble;
 * its message never holds a secret, and its kind says what can be done:
 *
 *   password     it is not the one
 *   another      a backup of another node, or of another kind
 *   form         nothing that can be read
 *   unreachable  the node could not be called; see diagnosis.js
 *   refused      the node said no
 *   platform     the platform said no, or could not be called
 */
export class Trouble extends Error {
  constructor(kind, message) {
    super(message);
    this.name = "Trouble";
    this.kind = kind;
  }
}

/** Say what happened, also of what nobody foresaw. */
export function inWords(error) {
  if (error instanceof Trouble) return error.message;
  console.error(error);
  return "Something went wrong in this page. Reload it, and look at what was done before you try again.";
}
