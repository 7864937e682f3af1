// What a client of the TypeScript SDK, version 1, does with a service: node typescript1.mjs URL KEY
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import assert from 'node:assert/strict';

const [url, key] = process.argv.slice(2);
const connect = async (headers) => {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  return { client, transport };
};

for (const [headers, code] of [[{}, 402], [{ Authorization: 'Bearer cv_test_00000000000000000000000000000000' }, 401]]) {
  await assert.rejects(connect(headers), (e) => e.code === code);
}
const { client, transport } = await connect({ Authorization: `Bearer ${key}` });
const { tools } = await client.listTools();
assert.equal(tools.length, 11);
const found = await client.callTool({ name: 'context.search', arguments: { q: 'bitcoin', k: 2 } });
assert.equal(found.structuredContent.matches.length, 2);
const refused = await client.callTool({ name: 'context.cite', arguments: { ref: 99 } }); // it checks results against the schema
assert.equal(refused.isError, true);
assert.equal(JSON.parse(refused.content[0].text).error.code, 'CITATION_NOT_FOUND');
const uri = 'context://packs/crypto/state';
const updated = new Promise((resolve) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => resolve(n.params.uri)));
await client.subscribeResource({ uri });
assert.equal(await updated, uri);
let progress = 0;
const watched = await client.callTool({ name: 'context.subscribe', arguments: { seconds: 4 } }, undefined,
  { onprogress: () => progress++, resetTimeoutOnProgress: true, timeout: 3000 });
assert.ok(progress > 0 && (watched.structuredContent.reason === 'news' ? watched.structuredContent.changes : watched.structuredContent.reason === 'elapsed'));
const looked = await client.callTool({ name: 'context.lookup', arguments: { q: 'bitcoin price, tether supply' } });
assert.equal(looked.structuredContent.results[0].rows[0].key, 'bitcoin');
const changed = await client.callTool({ name: 'context.changes', arguments: { since: '-1m' } });
assert.ok(changed.isError || Array.isArray(changed.structuredContent.rows));
const brief = await client.readResource({ uri: 'context://packs/crypto/brief' });
assert.match(brief.contents[0].text, /\[1\]/);
await transport.terminateSession();
await client.close();
console.log('ok');
