// Calls a daemon through openapi-fetch with the types that openapi-typescript made of its description, as BASE_URL and with API_KEY. The
// compiler holds it to the description, strictly; what the daemon answers otherwise fails it.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { env: Record<string, string | undefined> };

function must<T>(what: string, value: T | undefined, error?: unknown): T {
  if (value === undefined) throw new Error(`${what}: ${JSON.stringify(error)}`);
  return value;
}

function check(what: string, ok: boolean, got: unknown): void {
  if (!ok) throw new Error(`${what}: ${JSON.stringify(got)}`);
}

const baseUrl = must("BASE_URL", process.env.BASE_URL);
const paying = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${must("API_KEY", process.env.API_KEY)}` } });
const stranger = createClient<paths>({ baseUrl });

const fresh = await paying.GET("/v1/fresh");
const mind: components["schemas"]["MindResponse"] = must("fresh", fresh.data, fresh.error);
check("fresh", mind.brief !== "" && mind.citations.length > 0 && mind.freshness.ageSeconds >= 0, mind);
check("state", "top_movers" in mind.state, mind.state);

const brief = await paying.GET("/v1/brief");
check("brief", must("brief", brief.data, brief.error).brief.includes("["), brief.data);

const search = await paying.GET("/v1/search", { params: { query: { q: "bitcoin", k: 2 } } });
const matches = must("search", search.data, search.error).matches;
check("search", matches.length > 0 && matches[0]!.path !== "", matches);

const at = new Date(Date.now() - 20 * 60_000).toISOString().slice(0, 16);
const snapshot = await paying.GET("/v1/snapshot", { params: { query: { at } } });
check("snapshot", must("snapshot", snapshot.data, snapshot.error).freshness.ageSeconds >= 0, snapshot.data);

const cite = await paying.GET("/v1/cite", { params: { query: { ref: 3 } } });
const source = must("cite", cite.data, cite.error).source;
const again = await paying.POST("/v1/cite", { body: { ref: 3 } });
check("cite by body", must("cite by body", again.data, again.error).source.id === source.id, again.data);

const missing = await paying.GET("/v1/cite", { params: { query: { ref: 999 } } });
check("cite of no source", missing.response.status === 404 && missing.error?.error.code === "CITATION_NOT_FOUND", missing.error);

const quoted = await stranger.GET("/v1/fresh");
const refusal = quoted.error;
check("fresh without a key", quoted.response.status === 402 && refusal !== undefined && "payment" in refusal && refusal.payment.amount === "0.001", refusal);

console.log("the TypeScript client: fresh, brief, search, snapshot, cite twice, 402, 404");
