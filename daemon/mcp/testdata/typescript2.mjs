// What a client of the TypeScript SDK, version 2, does with a service in one of the two eras: node typescript2.mjs URL KEY auto|legacy VERSION
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import assert from 'node:assert/strict';

const [url, key, mode, version] = process.argv.slice(2);
const connect = async (headers) => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
};

await assert.rejects(connect({}), /PAYMENT_REQUIRED/);
const client = await connect({ Authorization: `Bearer ${key}` });
assert.equal(client.getNegotiatedProtocolVersion(), version);
const { tools } = await client.listTools();
assert.equal(tools.length, 11);
const found = await client.callTool({ name: 'context.search', arguments: { q: 'bitcoin', k: 2 } });
assert.equal(found.structuredContent.matches.length, 2);
const refused = await client.callTool({ name: 'context.cite', arguments: { ref: 99 } });
assert.equal(refused.isError, true);
let progress = 0;
const watched = await client.callTool({ name: 'context.subscribe', arguments: { seconds: 3 } }, { onprogress: () => progress++ });
assert.ok(progress > 0 && ['news', 'elapsed'].includes(watched.structuredContent.reason));
await client.close();
console.log('ok');
