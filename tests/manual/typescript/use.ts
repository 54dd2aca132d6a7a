// A customer's program: who am I, which nodes are there, order a channel, follow what happens.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };

function told<Data>(answer: { data?: Data; error?: components["schemas"]["Problem"] }): Data {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

function check(isRight: boolean, what: string): void {
  if (!isRight) throw new Error(what);
}

const [url = "", key = ""] = process.argv.slice(2);
const leyden = createClient<paths>({
  baseUrl: url,
  headers: { Authorization: `Bearer ${key}` },
});

type Position = NonNullable<paths["/events"]["get"]["parameters"]["query"]>;

async function eventsAt(query: Position): Promise<components["schemas"]["EventsAnswer"]> {
  const answer = told(await leyden.GET("/events", { params: { query } }));
  if (typeof answer === "string") throw new Error("a stream, and no page");
  return answer;
}

const account = told(await leyden.GET("/key"));
const organization_id = account.organization_id;
const { channels } = told(await leyden.GET("/platform"));
const capacity = channels?.smallest_capacity ?? 0;
const listed = told(
  await leyden.GET("/organizations/{organization_id}/nodes", {
    params: { path: { organization_id }, query: { status: "failed" } },
  }),
);
check(listed.nodes.length === 0, "no node has failed");

const refused = await leyden.POST("/flow/quote", { body: { capacity: 7 } });
check(refused.error?.code === "invalid_request", "the code of an error");
check(refused.error?.field === "capacity", "the field of an error");
check(Boolean(refused.response.headers.get("request-id")), "the id of a request");

let cursor = (await eventsAt({ after: "latest" })).next_cursor;
const quote = told(await leyden.POST("/flow/quote", { body: { capacity } }));
const order = told(
  await leyden.POST("/flow/create", {
    body: { capacity },
    params: { header: { "Idempotency-Key": crypto.randomUUID() } },
  }),
);
check(order.total_fee === quote.total_fee, "the price of a quote");

let seen = "";
while (!seen) {
  const page = await eventsAt({ cursor, wait: 10 });
  for (const event of page.events) {
    if (event.type === "order.created") seen = event.data.order_id; // typed by its type
  }
  cursor = page.next_cursor;
}
check(seen === order.order_id, "the event of the order");
console.log(account.organization_name);
