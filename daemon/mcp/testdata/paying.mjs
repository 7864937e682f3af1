// A client of the agents package, unmodified, calls tools and pays for them with a client of either TypeScript SDK below it:
// node paying.mjs URL PRIVATE_KEY
import assert from 'node:assert/strict'
import { withX402Client } from 'agents/x402'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client'
import { privateKeyToAccount } from 'viem/accounts'

const [url, key] = process.argv.slice(2)
const account = privateKeyToAccount(key)

for (const [name, Client, Transport] of [['sdk', Client1, Transport1], ['client', Client2, Transport2]]) {
  const client = new Client({ name: 'paying', version: '1' })
  await client.connect(new Transport(new URL(url)))
  const paying = withX402Client(client, { account })
  const { tools } = await paying.listTools()
  assert.ok(tools.some((t) => t.name === 'context.search'))
  let asked = 0
  const yes = async (accepts) => {
    asked++
    assert.equal(accepts[0].scheme, 'exact')
    return true
  }
  const found = await paying.callTool(yes, { name: 'context.search', arguments: { q: 'bitcoin', k: 1 } })
  assert.ok(!found.isError, JSON.stringify(found))
  assert.equal(found.structuredContent.matches.length, 1)
  const receipt = found._meta['x402/payment-response']
  assert.ok(receipt.success && /^0x[0-9a-f]{64}$/.test(receipt.transaction), JSON.stringify(receipt))
  const none = await paying.callTool(yes, { name: 'context.cite', arguments: { ref: 99 } })
  assert.ok(none.isError, JSON.stringify(none))
  const declined = await paying.callTool(async () => false, { name: 'context.brief', arguments: {} })
  assert.ok(declined.isError && declined.content[0].text === 'User declined payment', JSON.stringify(declined))
  assert.equal(asked, 1)
  await client.close()
  console.log(`${name}: paid ${receipt.transaction}`)
}
console.log('ok')
