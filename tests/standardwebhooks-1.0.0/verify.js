// Verifies what it reads with the public library: a secret, headers and a body.
const { Webhook } = require("standardwebhooks");

const sent = JSON.parse(require("fs").readFileSync(0, "utf8"));
try {
  new Webhook(sent.secret).verify(sent.body, sent.headers);
} catch (error) {
  process.stderr.write(String(error));
  process.exit(1);
}
