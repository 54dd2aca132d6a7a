// What a customer's TypeScript says about requests and answers, held to its types.
import type { components, paths } from "./api.js";

type Created = paths["/organizations/{organization_id}/nodes"]["post"]["responses"][200]["content"]["application/json"];
type NewNode = components["schemas"]["NewNode"];

const wanted: NewNode = {
  name: "harbour light",
  network: "testnet",
  type: "standard",
  settings: {
    autopilot: false,
    grpc: true,
    rest: true,
    keysend: true,
    whitelist: ["198.51.100.7"],
    alias: "harbour light",
    color: "#ff9900",
  },
};
// @ts-expect-error a field that does not exist is refused
const wrong: NewNode = { ...wanted, price: 1 };
// @ts-expect-error a required field is missing
const missing: NewNode = { name: "harbour light" };

export function id(created: Created): string {
  return created.node_id;
}

export function due(order: components["schemas"]["OrderAnswer"]): number {
  return order.amount_due;
}

export function why(node: components["schemas"]["NodeAnswer"]): string | undefined {
  return node.status_reason; // there only while the node is failed
}

export { missing, wanted, wrong };
